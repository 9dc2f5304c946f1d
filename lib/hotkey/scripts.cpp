#include "hotkey/scripts.hpp"

#include <string>
#include <string_view>

namespace slotwise::hotkey {

namespace {

// For servers from 7.0 on. The first line matters: with it a server that is full, read-only or has
// too few replicas refuses the script as a whole instead of at its second write. What frees memory
// may also run when it is full.
constexpr std::string_view writes = "#!lua\n";
constexpr std::string_view frees = "#!lua flags=allow-oom\n";
constexpr std::string_view reads = "#!lua flags=no-writes\n";

// Numbers are doubles, exact up to 2^53, and leave as text. `int` takes what `text` writes and
// nothing else. Times: `now` in milliseconds, `micros` in microseconds.
constexpr std::string_view common = R"lua(
local limit, greatest_version = 9007199254740991, 9000000000000000
local function int(s, low, high)
  if type(s) ~= 'string' or #s > 16 then return nil end
  if s ~= '0' and s ~= '-1' and not string.match(s, '^[1-9]%d*$') then return nil end
  local n = tonumber(s)
  if n < low or n > high then return nil end
  return n
end
local function text(n) return string.format('%.0f', n) end
local time = redis.call('TIME')
local micros = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(micros / 1000)
local function kind_of(key) return redis.call('TYPE', key).ok end
)lua";

// ARGV[1] is the number of the manifest that the caller has. `m` has its fields as they are, and
// version, expires, number and lock_until once more as numbers in `n`; both are nil if there is
// none. A manifest with anything wrong in it ends the script before it has written anything.
constexpr std::string_view home = R"lua(
local original, manifest = KEYS[1], KEYS[2]
local m, n
local function well_formed(f)
  local numbers = {number = {1, limit}, per_primary = {0, 16}, version = {0, greatest_version},
    expires = {-1, limit}, changed = {0, limit}, lock_until = {0, limit},
    restored = {0, greatest_version}, joined = {1, 1}}
  local texts = {format = true, kind = true, copies = true, lock = true}
  for name, value in pairs(f) do
    local range = numbers[name]
    if range then
      if not int(value, range[1], range[2]) then return false end
    elseif not texts[name] then
      return false
    end
  end
  for _, name in ipairs({'number', 'per_primary', 'version', 'expires', 'changed', 'lock_until',
      'format', 'kind', 'copies', 'lock'}) do
    if not f[name] then return false end
  end
  if f.format ~= '1' or (f.kind ~= 'value' and f.kind ~= 'counter') then return false end
  local seen, good = {}, true
  local rest = string.gsub(' ' .. f.copies, ' (%d+)[jrl]', function(slot)
    if seen[slot] or not int(slot, 0, 16383) then good = false end
    seen[slot] = true
    return ''
  end)
  return good and (rest == '' or f.copies == '')
end
do
  local kind = kind_of(manifest)
  if kind ~= 'none' then
    if kind ~= 'hash' then return {'damaged', kind} end
    local flat = redis.call('HGETALL', manifest)
    m = {}
    for i = 1, #flat, 2 do m[flat[i]] = flat[i + 1] end
    if not well_formed(m) then return {'damaged', flat} end
    n = {version = tonumber(m.version), expires = tonumber(m.expires),
      number = tonumber(m.number), lock_until = tonumber(m.lock_until)}
  end
end
local joined = m and m.joined
local function is_there() return redis.call('EXISTS', original) == 1 end
-- Whether the manifest says that there is a value.
local function ought_to_be() return n.expires == 0 or n.expires > now end
local function next_version(after) return math.max(after + 1, micros) end
-- After a failover that forgot a change another one must not get its number.
local function next_number(after) return math.max(after + 1, now) end
local function store(value, expires)
  if expires == 0 then
    redis.call('SET', original, value)
  else
    redis.call('SET', original, value, 'PXAT', text(expires))
  end
end
local function expires_in(ms) return math.min(now + tonumber(ms), limit) end
local function expiry_of_original()
  if not is_there() then return -1 end
  return math.max(redis.call('PEXPIRETIME', original), 0)
end
local function written(version, expires)
  m.version, m.expires, n.version, n.expires = text(version), text(expires), version, expires
  redis.call('HSET', manifest, 'version', m.version, 'expires', m.expires)
end
local function answer(status, existed, value)
  if not m then return {status, '0', '0', '0', text(now), 0, 0, false, false} end
  local lost, fields = 0, false
  if not joined and ought_to_be() and not is_there() then lost = 1 end
  if m.number ~= ARGV[1] then fields = redis.call('HGETALL', manifest) end
  return {status, m.version, m.expires, m.restored or '0', text(now), lost, existed and 1 or 0,
    value or false, fields}
end
)lua";

constexpr std::string_view only_values = R"lua(
if not m then return answer('absent') end
if not joined and m.kind ~= 'value' then return {'kind', m.kind} end
)lua";

constexpr std::string_view only_counters = R"lua(
if not m then return answer('absent') end
if not joined and m.kind ~= 'counter' then return {'kind', m.kind} end
)lua";

// value, milliseconds or nothing
constexpr std::string_view set = R"lua(
local expires = 0
if ARGV[3] ~= '' then expires = expires_in(ARGV[3]) end
store(ARGV[2], expires)
if joined then return answer('joined', true) end
written(next_version(n.version), expires)
return answer('ok', true)
)lua";

constexpr std::string_view del = R"lua(
local existed = is_there() or (not joined and ought_to_be())
redis.call('DEL', original)
if joined then return answer('joined', existed) end
written(next_version(n.version), -1)
return answer('ok', existed)
)lua";

// milliseconds, or nothing: persist
constexpr std::string_view expire = R"lua(
if not is_there() then return answer(joined and 'joined' or 'no_value', false) end
local expires = 0
if ARGV[2] ~= '' then
  expires = expires_in(ARGV[2])
  redis.call('PEXPIREAT', original, text(expires))
else
  redis.call('PERSIST', original)
end
if joined then return answer('joined', true) end
written(next_version(n.version), expires)
return answer('ok', true)
)lua";

// 1 if the value is wanted
constexpr std::string_view look = R"lua(
if not m then return answer('absent') end
if joined then return answer('joined', is_there()) end
local value = false
if ARGV[2] == '1' then
  local kind = kind_of(original)
  if kind ~= 'none' and kind ~= 'string' then return {'original', kind} end
  value = redis.call('GET', original)
end
return answer('ok', is_there(), value)
)lua";

// version, expires, 1 if there is a value, value
constexpr std::string_view restore = R"lua(
if joined then return answer('joined') end
local version, expires = int(ARGV[2], 1, greatest_version), int(ARGV[3], -1, limit)
if version < n.version then return answer('behind') end
if version == n.version then
  if is_there() or not ought_to_be() or ARGV[4] ~= '1' then return answer('behind') end
  store(ARGV[5], n.expires)
  return answer('ok', true)
end
if ARGV[4] == '1' and (expires == 0 or expires > now) then
  store(ARGV[5], expires)
else
  redis.call('DEL', original)
end
written(version, expires)
m.restored = m.version
redis.call('HSET', manifest, 'restored', m.restored)
return answer('ok', true)
)lua";

// kind, per_primary, number that the new one is above, copies
constexpr std::string_view create = R"lua(
if m and not joined then return answer('changed') end
local kind = kind_of(original)
if kind ~= 'none' and kind ~= 'string' then return {'type', kind} end
local anew = ARGV[5] ~= ''
local version, expires = next_version(n and n.version or 0), expiry_of_original()
if kind == 'none' and anew then version, expires = 0, 0 end
if ARGV[2] == 'counter' and not (kind == 'none' and anew) then
  if expires > 0 then return {'ttl'} end
  local sum = redis.pcall('INCRBY', original, 0)
  if type(sum) == 'table' then return {'refused', sum.err} end
  expires = 0
end
local number = next_number(math.max(tonumber(ARGV[4]), n and n.number or 0))
redis.call('DEL', manifest)
redis.call('HSET', manifest, 'format', '1', 'number', text(number), 'kind', ARGV[2],
  'per_primary', ARGV[3], 'copies', ARGV[5], 'version', text(version), 'expires', text(expires),
  'changed', text(now), 'lock', '', 'lock_until', '0')
m = {number = text(number), version = text(version), expires = text(expires)}
n = {version = version, expires = expires}
joined = nil
return answer('ok', true)
)lua";

// What a change and the end of a join begin with: token in ARGV[2].
constexpr std::string_view if_mine = R"lua(
if not m then return answer('absent') end
if joined then return answer('joined') end
if m.number ~= ARGV[1] then return answer('changed') end
if m.lock ~= '' and m.lock ~= ARGV[2] and n.lock_until > now then return answer('locked') end
)lua";

// token, hold, copies, per_primary, 1 to adopt, amount; '-' for what is not given
constexpr std::string_view change = R"lua(
if ARGV[7] ~= '-' then
  if m.kind ~= 'counter' then return {'kind', m.kind} end
  if not is_there() then return answer('no_value') end
  local sum = redis.pcall('INCRBY', original, ARGV[7])
  if type(sum) == 'table' then return {'refused', sum.err} end
end
if ARGV[6] == '1' then
  local kind = kind_of(original)
  if kind ~= 'none' and kind ~= 'string' then return {'type', kind} end
  local expires = expiry_of_original()
  if m.kind == 'counter' then
    if expires > 0 then return {'ttl'} end
    local sum = redis.pcall('INCRBY', original, 0)
    if type(sum) == 'table' then return {'refused', sum.err} end
    expires = 0
  end
  written(next_version(n.version), expires)
end
if ARGV[4] ~= '-' then redis.call('HSET', manifest, 'copies', ARGV[4]) end
if ARGV[5] ~= '-' then redis.call('HSET', manifest, 'per_primary', ARGV[5]) end
if ARGV[4] ~= '-' or ARGV[5] ~= '-' then
  m.number = text(next_number(n.number))
  redis.call('HSET', manifest, 'number', m.number, 'changed', text(now))
end
local hold = tonumber(ARGV[3])
if hold > 0 then
  redis.call('HSET', manifest, 'lock', ARGV[2], 'lock_until', text(now + hold))
else
  redis.call('HSET', manifest, 'lock', '', 'lock_until', '0')
end
return answer('ok', true)
)lua";

constexpr std::string_view finish_join = R"lua(
if m.copies ~= '' then return answer('changed') end
m.number = text(next_number(n.number))
redis.call('HSET', manifest, 'number', m.number, 'per_primary', '0', 'changed', text(now),
  'lock', '', 'lock_until', '0', 'joined', '1')
redis.call('PEXPIRE', manifest, 60000)
joined = '1'
return answer('ok', true)
)lua";

// amount
constexpr std::string_view add_home = R"lua(
if not joined and not is_there() then return answer('no_value') end
local sum = redis.pcall('INCRBY', original, ARGV[2])
if type(sum) == 'table' then return {'refused', sum.err} end
return answer(joined and 'joined' or 'ok', true, redis.call('GET', original))
)lua";

// What the mark says: `state` is none, value, gone, part or folded; `number` is of the manifest
// under which that became so. `held`: the version that the copy itself bears, nil if there is none.
constexpr std::string_view copy = R"lua(
local copy, mark = KEYS[1], KEYS[2]
local state, version, expires, number, amount = 'none', 0, 0, 0, '0'
do
  local kind = kind_of(mark)
  if kind ~= 'none' and kind ~= 'string' then return {'mark', kind} end
  local found = redis.call('GET', mark)
  if found then
    local v, e, n = string.match(found, '^(%d+):(%-?%d+):(%d+)$')
    if v then
      state, version, expires = 'value', int(v, 0, greatest_version), int(e, -1, limit)
    else
      v, n = string.match(found, '^(%a+):(%d+)$')
      if v == 'part' or v == 'gone' then
        state = v
      else
        amount, n = string.match(found, '^folded:(%-?%d+):(%d+)$')
        state = 'folded'
      end
    end
    number = int(n, 0, limit)
    if not (version and expires and number and amount) then return {'mark', found} end
  end
end
local function held_in(head)
  return head and int(string.match(head, '^(%d+):'), 1, greatest_version)
end
local function held_version()
  if kind_of(copy) ~= 'string' then return nil end
  return held_in(redis.call('GETRANGE', copy, 0, 17))
end
local function expiry_of_copy() return math.max(redis.call('PEXPIRETIME', copy), 0) end
local function set_mark(v, e, n)
  redis.call('SET', mark, text(v) .. ':' .. text(e) .. ':' .. text(n))
end
local function answer(status, part, value)
  return {status, text(version), text(expires), text(number), part or '0', value or false}
end
-- Of a counter: its part as text, false if it is not there. The second result: what is wrong.
local function find_part()
  if redis.call('EXISTS', copy) == 0 then return false end
  local sum = redis.pcall('INCRBY', copy, 0)
  if type(sum) == 'table' then return false, {'refused', sum.err} end
  return redis.call('GET', copy)
end
)lua";

constexpr std::string_view copy_of_value = R"lua(
if state == 'gone' then return answer('gone') end
if state == 'part' or state == 'folded' then return {'kind', 'counter'} end
)lua";

// version, expires, 1 if there is a value, value
constexpr std::string_view put = R"lua(
local v, e = int(ARGV[1], 0, greatest_version), int(ARGV[2], -1, limit)
local held = held_version()
-- A mark may be lost while its copy is not.
local have = math.max(version, held or 0)
if v < have then
  version = have
  return answer('newer')
end
local value = ARGV[3] == '1' and (e == 0 or e > now)
if v > have or (value and held ~= v) then
  if value and e == 0 then
    redis.call('SET', copy, ARGV[1] .. ':' .. ARGV[4])
  elseif value then
    redis.call('SET', copy, ARGV[1] .. ':' .. ARGV[4], 'PXAT', text(e))
  else
    redis.call('DEL', copy)
  end
end
if v > version then
  version, expires = v, e
  set_mark(v, e, number)
end
return answer('written')
)lua";

// 1 if the value is wanted, which is given with its version before it
constexpr std::string_view look_copy = R"lua(
local value, held
if ARGV[1] == '1' and kind_of(copy) == 'string' then
  value = redis.call('GET', copy)
  held = value and held_in(string.sub(value, 1, 18))
else
  held = held_version()
end
if held and held >= version then
  if held > version then version, expires = held, expiry_of_copy() end
  return answer('value', '0', value)
end
if state == 'none' or version == 0 then return answer('lost') end
if expires == -1 then return answer('deleted') end
if expires > 0 and expires <= now then return answer('expired') end
return answer('lost')
)lua";

// kind, number
constexpr std::string_view open = R"lua(
local n = tonumber(ARGV[2])
if state == 'gone' and number > n then return answer('gone') end
if state == 'folded' and number >= n then return answer('folded', amount) end
local newest = math.max(number, n)
if ARGV[1] == 'value' then
  if state == 'part' then return {'kind', 'counter'} end
  local held = held_version()
  if held and held > version then version, expires = held, expiry_of_copy() end
  set_mark(version, expires, newest)
  number = newest
  return answer('written')
end
if state == 'value' and redis.call('EXISTS', copy) == 1 then return {'kind', 'value'} end
local part, trouble = find_part()
if trouble then return trouble end
if not part then
  part = '0'
  redis.call('SET', copy, part)
end
number = newest
redis.call('SET', mark, 'part:' .. text(number))
return answer('part', part)
)lua";

// number
constexpr std::string_view remove = R"lua(
local n = tonumber(ARGV[1])
if state == 'folded' then
  if number < n then redis.call('PEXPIRE', mark, 60000) end
  return answer('folded', amount)
end
if state == 'part' then return answer('part') end
if state == 'value' and number >= n then return answer('newer') end
if state == 'none' and kind_of(copy) == 'string' and not held_version() then
  local part = find_part()
  if part then return answer('part', part) end
end
redis.call('DEL', copy)
number = math.max(number, n)
redis.call('SET', mark, 'gone:' .. text(number), 'PX', 60000)
return answer('gone')
)lua";

constexpr std::string_view part_of_counter = R"lua(
if state == 'value' then return {'kind', 'value'} end
if state == 'folded' then return answer('folded', amount) end
if state == 'gone' then return answer('gone') end
)lua";

// amount
constexpr std::string_view add = R"lua(
if redis.call('EXISTS', copy) == 0 then return answer('lost') end
local sum = redis.pcall('INCRBY', copy, ARGV[1])
if type(sum) == 'table' then return {'refused', sum.err} end
return answer('part', redis.call('GET', copy))
)lua";

constexpr std::string_view look_part = R"lua(
local kind = kind_of(copy)
if kind == 'none' then return answer('lost') end
if kind ~= 'string' then return {'copy', kind} end
return answer('part', redis.call('GET', copy))
)lua";

// number
constexpr std::string_view fold = R"lua(
local part, trouble = find_part()
if trouble then return trouble end
if not part then return answer('lost') end
local n = tonumber(ARGV[1])
if number >= n then return answer('part', part) end
number = n
redis.call('DEL', copy)
redis.call('SET', mark, 'folded:' .. part .. ':' .. text(number))
return answer('folded', part)
)lua";

Script joined(std::initializer_list<std::string_view> parts) {
  std::string body;
  for (const std::string_view part : parts)
    body += part;
  return Script(std::move(body));
}

}  // namespace

const Scripts& scripts() {
  static const Scripts all{
      .set = joined({writes, common, home, only_values, set}),
      .del = joined({frees, common, home, only_values, del}),
      .expire = joined({frees, common, home, only_values, expire}),
      .look = joined({reads, common, home, look}),
      .restore = joined({writes, common, home, only_values, restore}),
      .create = joined({writes, common, home, create}),
      .change = joined({frees, common, home, if_mine, change}),
      .finish_join = joined({frees, common, home, if_mine, finish_join}),
      .add_home = joined({writes, common, home, only_counters, add_home}),
      .put = joined({writes, common, copy, copy_of_value, put}),
      .look_copy = joined({reads, common, copy, copy_of_value, look_copy}),
      .open = joined({writes, common, copy, open}),
      .remove = joined({frees, common, copy, remove}),
      .add = joined({writes, common, copy, part_of_counter, add}),
      .look_part = joined({reads, common, copy, part_of_counter, look_part}),
      .fold = joined({frees, common, copy, part_of_counter, fold}),
  };
  return all;
}

}  // namespace slotwise::hotkey
