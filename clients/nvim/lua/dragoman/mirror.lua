-- A Neovim buffer that shows a buffer of the core. `shadow` is the core's
-- text at `revision`; what Neovim has beyond it is one change, sent when none
-- is on its way. The core's order decides: what others changed is laid under
-- our own change, and a refused one is sent again on the new text.
local change = require('dragoman.change')

local Mirror = {}
Mirror.__index = Mirror

-- Makes a mirror of the core's buffer info in Neovim's buffer nr.
function Mirror.new(nr, call, warn)
  local self = setmetatable({ nr = nr, call = call, warn = warn, shadow = '', revision = -1, held = {} }, Mirror)
  vim.bo[nr].buftype = 'acwrite'
  vim.bo[nr].fixendofline = false
  vim.bo[nr].swapfile = false
  vim.api.nvim_buf_attach(nr, false, {
    on_lines = function()
      if self.gone then
        return true
      end
      if not self.applying then
        self:soon()
      end
    end,
    on_detach = function()
      self.gone = true
    end,
  })
  return self
end

-- The text that Neovim has: the last line end is its 'endofline'.
function Mirror:text()
  local lines = vim.api.nvim_buf_get_lines(self.nr, 0, -1, true)
  return table.concat(lines, '\n') .. (vim.bo[self.nr].endofline and '\n' or '')
end

-- Makes Neovim's buffer hold text, changing as little as possible.
function Mirror:show(text)
  local eol = text:sub(-1) == '\n'
  local want = eol and text:sub(1, -2) or text
  local have = table.concat(vim.api.nvim_buf_get_lines(self.nr, 0, -1, true), '\n')
  local c = change.between(have, want)
  self.applying = true
  vim.bo[self.nr].endofline = eol
  if c then
    local s, e = change.position(have, c.from), change.position(have, c.to)
    vim.api.nvim_buf_set_text(self.nr, s.line, s.character, e.line, e.character, vim.split(c.text, '\n', { plain = true }))
  end
  self.applying = false
end

-- Takes the core's text at a revision: what differs from the shadow is
-- somebody else's, what Neovim has beyond the shadow is ours.
function Mirror:advance(text, revision)
  local ours = change.between(self.shadow, self:text())
  if ours then
    local theirs = change.between(self.shadow, text)
    ours = theirs and change.rebase(ours, theirs) or ours
  end
  self.shadow, self.revision = text, revision
  self:show(ours and change.apply(text, ours) or text)
end

-- Sends our change once Neovim is done with what it does.
function Mirror:soon()
  if self.planned then
    return
  end
  self.planned = true
  vim.schedule(function()
    self.planned = false
    self:flush()
  end)
end

-- Whether the core has what Neovim shows.
function Mirror:idle()
  return self.buffer ~= nil and not self.sending and not self.syncing and self.shadow == self:text()
end

function Mirror:flush()
  if self.gone or self.sending or self.syncing or not self.buffer then
    return
  end
  local ours = change.between(self.shadow, self:text())
  if not ours then
    return
  end
  self.sending = true
  local range = { start = change.position(self.shadow, ours.from), ['end'] = change.position(self.shadow, ours.to) }
  local params = { buffer = self.buffer, revision = self.revision, edits = { { range = range, text = ours.text } } }
  local buffer = self.buffer
  self.call('buffer.edit', params, function(err)
    self.sending = false
    if self.buffer ~= buffer then
      return -- attached anew meanwhile
    end
    if err and err.code == 'stale' then
      -- The change that made it stale stands before this answer.
      if err.data and err.data.revision ~= self.revision then
        return self:sync()
      end
    elseif err then
      return self.warn('edit: ' .. err.code .. ': ' .. err.message)
    end
    self:soon()
  end)
end

-- Applies a buffer.changed.
function Mirror:changed(p, client)
  if self.syncing then
    return table.insert(self.held, p)
  end
  if p.revision <= self.revision then
    return
  end
  if p.reset or p.from ~= self.revision then
    return self:sync()
  end
  local text = self.shadow
  for _, edit in ipairs(p.edits) do
    local from, to = change.offset(text, edit.range.start), change.offset(text, edit.range['end'])
    if not from or not to then
      return self:sync()
    end
    text = change.apply(text, { from = from, to = to, text = edit.text })
  end
  local reason = p.origin.reason
  if self.sending and client and p.origin.client == client and reason ~= 'undo' and reason ~= 'redo' then
    -- Ours: Neovim shows it already, and perhaps more.
    self.shadow, self.revision = text, p.revision
  else
    self:advance(text, p.revision)
  end
  vim.bo[self.nr].modified = p.modified
  self:soon()
end

-- Reads the whole text again, page by page from one snapshot.
function Mirror:sync(done)
  self.syncing = true
  local buffer, parts, revision = self.buffer, {}, nil
  local function page(from)
    self.call('buffer.text', { buffer = buffer, from = from, revision = revision }, function(err, r)
      if self.buffer ~= buffer then
        return
      end
      if err and err.code == 'stale' then
        return self:sync(done)
      elseif err then
        self.syncing = false
        return self.warn('text: ' .. err.code .. ': ' .. err.message)
      end
      revision = r.revision
      table.insert(parts, r.text)
      if not r.eof then
        return page(r.next)
      end
      self:synced(table.concat(parts), revision, done)
    end)
  end
  page(nil)
end

function Mirror:synced(text, revision, done)
  local held = self.held
  self.syncing, self.held = false, {}
  if self.revision < 0 then
    self.shadow = self:text() -- the first time Neovim has nothing of its own
  end
  self:advance(text, revision)
  for _, p in ipairs(held) do
    self:changed(p)
  end
  if done then
    done()
  end
  self:soon()
end

-- Attaches to the core's buffer; again after a reconnect.
function Mirror:bind(info, done)
  self.buffer, self.sending, self.held = info.buffer, false, {}
  self:sync(function()
    vim.bo[self.nr].modified = info.modified
    if done then
      done()
    end
  end)
end

return Mirror
