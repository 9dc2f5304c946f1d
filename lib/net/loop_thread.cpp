#include "net/loop_thread.hpp"

#include <pthread.h>

#include <csignal>
#include <cstring>

#include "net/fork.hpp"

namespace slotwise::net {

LoopThread::LoopThread(const char* name, loop_settings settings)
    : loop_(settings), generation_(fork_generation()) {
  ::sigset_t all;
  ::sigset_t before;
  ::sigfillset(&all);
  // The new thread inherits the mask; blocking first leaves no moment in which it is open.
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { loop_.run(); });
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  char short_name[16] = {};
  std::strncpy(short_name, name, sizeof short_name - 1);
  ::pthread_setname_np(thread_.native_handle(), short_name);
}

LoopThread::~LoopThread() {
  stop_and_join();
}

void LoopThread::stop_and_join() {
  if (!thread_.joinable()) return;
  if (generation_ != fork_generation()) {
    // Forked: the thread exists only in the parent. Joining would wait for ever, detaching would
    // touch a thread that is not there; the handle is left alone.
    new std::thread(std::move(thread_));
    return;
  }
  loop_.stop();
  thread_.join();
}

}  // namespace slotwise::net
