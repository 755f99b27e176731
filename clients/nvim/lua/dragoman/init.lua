-- dragoman in Neovim: buffers of a running core, live (README.md).
local Link = require('dragoman.link')
local Mirror = require('dragoman.mirror')

local M = {}

local RETRY_MS = 500
local WRITE_WAIT_MS = 20000

local state = { mirrors = {} } -- by path

local function warn(text)
  vim.api.nvim_echo({ { 'dragoman: ' .. text, 'WarningMsg' } }, true, {})
end

local function call(op, params, done)
  if not state.link then
    return done({ code = 'closed', message = 'not attached' })
  end
  state.link:call(op, params, done)
end

local function mirror_of(buffer)
  for _, m in pairs(state.mirrors) do
    if m.buffer == buffer then
      return m
    end
  end
end

local function on_event(name, p)
  if name == 'session.dropped' then
    return state.link:close('dropped: ' .. p.reason)
  end
  local m = mirror_of(p.buffer)
  if not m or m.gone then
    return
  end
  if name == 'buffer.changed' then
    m:changed(p, state.client)
  elseif name == 'buffer.saved' then
    vim.bo[m.nr].modified = not m:idle()
  end
end

-- Opens a mirror's path in the core. Of a core that was killed, the unsaved
-- text that it logged comes first.
local function bind(m, done)
  call('buffer.open', { path = m.path }, function(err, info)
    if err then
      return warn('open ' .. m.path .. ': ' .. err.code .. ': ' .. err.message)
    end
    if m.revision >= 0 and info.recovery and not info.recovery.baseChanged then
      return call('buffer.recover', { buffer = info.buffer }, function(_, recovered)
        m:bind(recovered or info, done)
      end)
    end
    m:bind(info, done)
  end)
end

local function greet(done)
  local hello = {
    client = { name = 'neovim', version = '1' },
    positionEncoding = { 'utf-8' },
    events = { 'buffer.changed', 'buffer.saved', 'session.dropped' },
  }
  call('session.hello', hello, function(err, result)
    if err then
      return warn('hello: ' .. err.message)
    end
    state.client, state.attached = result.clientId, true
    for path, m in pairs(state.mirrors) do
      if m.gone then
        state.mirrors[path] = nil
      else
        bind(m)
      end
    end
    if done then
      done()
    end
  end)
end

local function connect(done)
  state.link = Link.connect(state.socket, {
    event = on_event,
    up = function()
      greet(done)
    end,
    down = function(reason)
      if state.attached then
        warn('detached: ' .. reason)
      end
      state.attached, state.link = false, nil
      for _, m in pairs(state.mirrors) do
        m.buffer, m.sending, m.syncing = nil, false, false
      end
      if state.socket then
        vim.defer_fn(function()
          if state.socket and not state.link then
            connect(done)
          end
        end, RETRY_MS)
      end
    end,
  })
end

-- Attaches to the core that listens at socket; it is found again when it
-- restarts. done() is called once attached.
function M.attach(socket, done)
  M.detach()
  state.socket = socket
  connect(done)
end

-- Ends the connection; the buffers stay as they are.
function M.detach()
  state.socket = nil
  if state.link then
    state.link:close('detached')
  end
end

-- Writes a mirror through the core, and waits for it.
local function write(m)
  local finished, failure
  vim.wait(WRITE_WAIT_MS, function()
    return m:idle()
  end, 10)
  if not m:idle() then
    return warn('not written: the core has not got all of it')
  end
  call('buffer.save', { buffer = m.buffer }, function(err)
    finished, failure = true, err
  end)
  vim.wait(WRITE_WAIT_MS, function()
    return finished
  end, 10)
  if failure or not finished then
    return warn('not written: ' .. (failure and failure.message or 'no answer'))
  end
  vim.bo[m.nr].modified = not m:idle()
end

-- Opens a file of the core in the current window; done(mirror) once it shows.
function M.open(path, done)
  path = vim.fn.fnamemodify(path, ':p')
  local m = state.mirrors[path]
  if m and not m.gone then
    vim.api.nvim_set_current_buf(m.nr)
    return done and done(m)
  end
  local nr = vim.api.nvim_create_buf(true, false)
  vim.api.nvim_buf_set_name(nr, 'dragoman://' .. path)
  m = Mirror.new(nr, call, warn)
  m.path, state.mirrors[path] = path, m
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = nr,
    callback = function()
      write(m)
    end,
  })
  vim.api.nvim_create_autocmd('BufUnload', {
    buffer = nr,
    callback = function()
      if m.buffer then
        call('buffer.close', { buffer = m.buffer }, function() end)
      end
      m.gone, m.buffer, state.mirrors[path] = true, nil, nil
    end,
  })
  vim.api.nvim_set_current_buf(nr)
  bind(m, function()
    if done then
      done(m)
    end
  end)
end

-- Edits in a core's buffer are undone by the core, for all; see README.md.
function M.undo(op)
  local m = state.mirrors[vim.api.nvim_buf_get_name(0):gsub('^dragoman://', '')]
  if m and m.buffer then
    call(op, { buffer = m.buffer }, function(err)
      if err then
        warn(op .. ': ' .. err.message)
      end
    end)
  end
end

return M
