-- One connection to a core: lines of JSON over a unix socket, calls with
-- callbacks, events, and a watchdog (core.md §1, §3).
local uv = vim.loop

local PING_AFTER_MS = 10000
local DEAD_AFTER_MS = 25000
local WATCH_EVERY_MS = 1000

local Link = {}
Link.__index = Link

local decode_options = { luanil = { object = true, array = true } }

-- Connects. on.event(name, params) gets events, on.down(reason) the end, once;
-- on.up() tells that calls may be made. All run in Neovim's main loop.
function Link.connect(socket, on)
  local self = setmetatable({
    pipe = uv.new_pipe(false), on = on, rest = {}, calls = {}, last_id = 0, heard = uv.now(),
  }, Link)
  self.pipe:connect(socket, vim.schedule_wrap(function(err)
    if err then
      return self:close(err)
    end
    self:read()
    self:watch()
    on.up()
  end))
  return self
end

function Link:read()
  self.pipe:read_start(function(err, chunk)
    self.heard = uv.now()
    if err or not chunk then
      return vim.schedule(function()
        self:close(err or 'the core closed the connection')
      end)
    end
    self:split(chunk)
  end)
end

-- Cuts a chunk into lines; what follows the last LF waits for more.
function Link:split(chunk)
  local from = 1
  while true do
    local to = chunk:find('\n', from, true)
    if not to then
      break
    end
    table.insert(self.rest, chunk:sub(from, to - 1))
    local line = table.concat(self.rest)
    self.rest = {}
    from = to + 1
    vim.schedule(function()
      self:take(line)
    end)
  end
  table.insert(self.rest, chunk:sub(from))
end

function Link:take(line)
  if self.closed then
    return
  end
  local ok, message = pcall(vim.json.decode, line, decode_options)
  if not ok then
    return self:close('not JSON: ' .. line:sub(1, 80))
  end
  if message.event then
    return self.on.event(message.event, message.params)
  end
  local call = self.calls[message.id]
  if call then
    self.calls[message.id] = nil
    call.done(message.error, message.result)
  end
end

-- Calls an operation; done(error, result) is called once.
function Link:call(op, params, done)
  if self.closed then
    return done({ code = 'closed', message = self.closed })
  end
  self.last_id = self.last_id + 1
  self.calls[self.last_id] = { done = done, at = uv.now() }
  local request = { id = self.last_id, op = op, params = params or vim.empty_dict() }
  self.pipe:write(vim.json.encode(request) .. '\n')
end

-- An idle link is pinged; a reply that is overdue means a dead one.
function Link:watch()
  self.timer = uv.new_timer()
  self.timer:start(WATCH_EVERY_MS, WATCH_EVERY_MS, vim.schedule_wrap(function()
    if self.closed then
      return
    end
    local now, waiting = uv.now(), next(self.calls) ~= nil
    if now - self.heard > DEAD_AFTER_MS and waiting then
      self:close('the core is silent')
    elseif now - self.heard > PING_AFTER_MS and not waiting then
      self:call('session.ping', nil, function() end)
    end
  end))
end

-- Ends the link; waiting calls fail. It may be called twice.
function Link:close(reason)
  if self.closed then
    return
  end
  self.closed = reason or 'closed'
  if self.timer then
    self.timer:close()
  end
  self.pipe:close()
  local calls = self.calls
  self.calls = {}
  for _, call in pairs(calls) do
    call.done({ code = 'closed', message = self.closed })
  end
  self.on.down(self.closed)
end

return Link
