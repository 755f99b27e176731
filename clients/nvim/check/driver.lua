-- What the check has Neovim do: mirror a file, make random edits in it while
-- others do, then tell what the buffer holds. DRAGOMAN_CHECK is its folder.
local dir, seed, edits = vim.env.DRAGOMAN_CHECK, tonumber(vim.env.DRAGOMAN_SEED), tonumber(vim.env.DRAGOMAN_EDITS)
math.randomseed(seed)

local function put(name, text)
  local part = dir .. '/' .. name .. '.part'
  local f = assert(io.open(part, 'wb'))
  f:write(text)
  f:close()
  os.rename(part, dir .. '/' .. name)
end

local function exists(name)
  return vim.loop.fs_stat(dir .. '/' .. name) ~= nil
end

-- The starts of a line's characters, and its end.
local function starts(line)
  local all = vim.str_utf_pos(line)
  for i, at in ipairs(all) do
    all[i] = at - 1
  end
  table.insert(all, #line)
  return all
end

if not vim.str_utf_pos then
  vim.str_utf_pos = function(line)
    local all, at = {}, 1
    while at <= #line do
      table.insert(all, at)
      at = at + vim.str_utf_end(line, at) + 1
    end
    return all
  end
end

local pieces = { 'n', 'vim', 'é', '🙂', '\n', 'two\nlines', '' }

local function edit(nr)
  local row = math.random(vim.api.nvim_buf_line_count(nr)) - 1
  local line = vim.api.nvim_buf_get_lines(nr, row, row + 1, true)[1]
  local at = starts(line)
  local a = math.random(#at)
  local b = math.min(#at, a + math.random(0, 2))
  local text = pieces[math.random(#pieces)]
  vim.api.nvim_buf_set_text(nr, row, at[a], row, at[b], vim.split(text, '\n', { plain = true }))
end

-- Runs step every few milliseconds until it returns true.
local function every(ms, step)
  local timer, busy = vim.loop.new_timer(), false
  timer:start(ms, ms, vim.schedule_wrap(function()
    -- A step that waits lets the timer go on.
    if busy or timer:is_closing() then
      return
    end
    busy = true
    local ok, done = pcall(step)
    busy = false
    if not ok then
      put('failed', tostring(done))
    end
    if not ok or done then
      timer:close()
    end
  end))
end

-- After its edits, tells each text that the check waits for: it names a
-- marker in the file "want-N"; the answer is "text-N".
local function answer(m, n)
  every(10, function()
    if not exists('want-' .. n) or not m:idle() then
      return false
    end
    local f = io.open(dir .. '/want-' .. n, 'rb')
    local marker = f:read('*a')
    f:close()
    local text = m:text()
    if not text:find(marker, 1, true) then
      return false
    end
    if marker:find('SAVE', 1, true) then
      vim.cmd('write')
      text = tostring(vim.bo[m.nr].modified)
    end
    put('text-' .. n, text)
    answer(m, n + 1)
    return true
  end)
end

local dragoman = require('dragoman')
dragoman.attach(vim.env.DRAGOMAN_SOCKET, function()
  if exists('shown') then
    return
  end
  dragoman.open(vim.env.DRAGOMAN_FILE, function(m)
    put('shown', m:text())
    local left = edits
    every(3, function()
      if left > 0 then
        edit(m.nr)
        left = left - 1
        return false
      end
      put('edited', '')
      answer(m, 1)
      return true
    end)
  end)
end)
