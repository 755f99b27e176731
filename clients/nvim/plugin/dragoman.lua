if vim.g.loaded_dragoman then
  return
end
vim.g.loaded_dragoman = true

local function command(name, run, options)
  vim.api.nvim_create_user_command(name, run, options)
end

command('DragomanAttach', function(o)
  require('dragoman').attach(o.args)
end, { nargs = 1, complete = 'file', desc = 'attach to the core that listens at this socket' })

command('DragomanEdit', function(o)
  require('dragoman').open(o.args)
end, { nargs = 1, complete = 'file', desc = 'open a file of the core' })

command('DragomanUndo', function()
  require('dragoman').undo('buffer.undo')
end, { desc = "undo the core's last step, whoever made it" })

command('DragomanRedo', function()
  require('dragoman').undo('buffer.redo')
end, { desc = "redo the core's last undone step" })

command('DragomanDetach', function()
  require('dragoman').detach()
end, { desc = 'detach from the core' })
