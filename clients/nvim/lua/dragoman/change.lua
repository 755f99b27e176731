-- Changes of a text: {from, to, text} replaces the bytes from..to (0-based,
-- half-open). No state, and nothing of Neovim.
local M = {}

local function is_inside(byte)
  return byte and byte >= 0x80 and byte < 0xC0
end

-- How many bytes two texts have in common at the start: halving, since
-- comparing parts is done in C.
local function common_prefix(a, b, limit)
  local low, high = 0, limit
  while low < high do
    local mid = math.floor((low + high + 1) / 2)
    if a:sub(low + 1, mid) == b:sub(low + 1, mid) then
      low = mid
    else
      high = mid - 1
    end
  end
  return low
end

local function common_suffix(a, b, limit)
  local low, high = 0, limit
  while low < high do
    local mid = math.floor((low + high + 1) / 2)
    if a:sub(#a - mid + 1, #a - low) == b:sub(#b - mid + 1, #b - low) then
      low = mid
    else
      high = mid - 1
    end
  end
  return low
end

-- The one change that makes b of a, nil when they are equal. It never cuts a
-- character.
function M.between(a, b)
  if a == b then
    return nil
  end
  local least = math.min(#a, #b)
  local head = common_prefix(a, b, least)
  while head > 0 and (is_inside(a:byte(head + 1)) or is_inside(b:byte(head + 1))) do
    head = head - 1
  end
  local tail = common_suffix(a, b, least - head)
  while tail > 0 and (is_inside(a:byte(#a - tail + 1)) or is_inside(b:byte(#b - tail + 1))) do
    tail = tail - 1
  end
  return { from = head, to = #a - tail, text = b:sub(head + 1, #b - tail) }
end

function M.apply(text, change)
  return text:sub(1, change.from) .. change.text .. text:sub(change.to + 1)
end

-- Our change, moved over theirs: both were made on the same text. Where they
-- overlap, what we wrote stands behind what they wrote.
function M.rebase(ours, theirs)
  local grown = #theirs.text - (theirs.to - theirs.from)
  if ours.to <= theirs.from and not (ours.from == theirs.from and theirs.from == theirs.to) then
    return ours
  elseif ours.from >= theirs.to then
    return { from = ours.from + grown, to = ours.to + grown, text = ours.text }
  end
  local behind = theirs.from + #theirs.text
  -- What we took away beyond their range is still to go; before it likewise,
  -- but a change is one range, so what they left in front stays.
  return { from = behind, to = math.max(behind, ours.to + grown), text = ours.text }
end

-- The byte offset of a position (0-based, utf-8 units).
function M.offset(text, position)
  local at = 0
  for _ = 1, position.line do
    at = text:find('\n', at + 1, true)
    if not at then
      return nil
    end
  end
  return at + position.character
end

-- The position of a byte offset.
function M.position(text, offset)
  local line, from = 0, 0
  while true do
    local lf = text:find('\n', from + 1, true)
    if not lf or lf > offset then
      return { line = line, character = offset - from }
    end
    line, from = line + 1, lf
  end
end

return M
