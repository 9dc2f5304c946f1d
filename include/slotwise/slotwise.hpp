// The whole public face of slotwise.
#pragma once

#include <slotwise/client.hpp>
#include <slotwise/config.hpp>
#include <slotwise/convert.hpp>
#include <slotwise/error.hpp>
#include <slotwise/events.hpp>
#include <slotwise/pipeline.hpp>
#include <slotwise/reply.hpp>
#include <slotwise/reply_view.hpp>
#include <slotwise/result.hpp>
#include <slotwise/slot.hpp>
#include <slotwise/task.hpp>
#include <slotwise/version.hpp>
