// Text measures the text store against headless Neovim, which does the same
// edits by its own Lua, in one run. See ../README.md.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"dragoman/bench/internal/child"
)

// A result is what one program reports on its standard output.
type result struct {
	LoadMs  float64 `json:"loadMs"`
	EditsMs float64 `json:"editsMs"`
	P99Us   float64 `json:"p99Us"`
	// Bytes is the size of the text at the end, by which the edits are checked.
	Bytes int64 `json:"bytes"`
	rss   int64
}

func main() {
	as := flag.String("as", "", "run as the store instead of measuring")
	mb := flag.Int("mb", 100, "size of the file in MiB")
	edits := flag.Int("edits", 100_000, "number of random one-character edits")
	reps := flag.Int("n", 3, "repetitions, of which the median counts")
	nvim := flag.String("nvim", "nvim", "the Neovim to measure against")
	flag.Parse()
	err := func() error {
		if *as == "ours" {
			return ours(flag.Arg(0), flag.Arg(1))
		}
		return measure(*nvim, *mb, *edits, *reps)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func measure(nvim string, mb, edits, reps int) error {
	dir, err := os.MkdirTemp("", "bench-text")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file, list := filepath.Join(dir, "file.txt"), filepath.Join(dir, "edits")
	size, err := generate(file, list, mb, edits)
	if err != nil {
		return err
	}
	script := filepath.Join(dir, "edit.lua")
	if err := os.WriteFile(script, []byte(lua), 0o600); err != nil {
		return err
	}
	programs := map[string][]string{
		"nvim": {nvim, "--headless", "-u", "NONE", "-i", "NONE", "-n", "--cmd", "let g:bench = ['" + file + "', '" + list + "']", "-S", script},
		"ours": append(child.Self("ours"), file, list),
	}
	all := map[string][]result{}
	for range reps {
		for _, name := range []string{"nvim", "ours"} {
			r, err := run(programs[name])
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if want := size + int64(edits); r.Bytes != want {
				return fmt.Errorf("%s has %d bytes after the edits, not %d", name, r.Bytes, want)
			}
			all[name] = append(all[name], r)
		}
	}
	report(all, size, edits)
	return nil
}

// run starts a program that reports one line of JSON and waits for its input
// to end.
func run(argv []string) (result, error) {
	var r result
	u, err := child.Run(argv, func(_ io.WriteCloser, out io.Reader) error {
		return json.NewDecoder(out).Decode(&r)
	})
	r.rss = u.RSS
	return r, err
}

func report(all map[string][]result, size int64, edits int) {
	median := func(name string, f func(result) float64) float64 {
		var v []float64
		for _, r := range all[name] {
			v = append(v, f(r))
		}
		return child.Median(v)
	}
	load := func(r result) float64 { return r.LoadMs }
	rate := func(r result) float64 { return float64(edits) / r.EditsMs * 1000 }
	rss := func(r result) float64 { return float64(r.rss) }
	for _, name := range []string{"nvim", "ours"} {
		fmt.Printf("%s: load %.0f ms, %.0f edits/s, peak %.0f MiB\n", name, median(name, load), median(name, rate), median(name, rss)/(1<<20))
	}
	limit := 1.1*float64(size) + 200*float64(edits)
	fmt.Printf("load         %.3f x nvim (at most 0.5)\n", median("ours", load)/median("nvim", load))
	fmt.Printf("edits        %.1f x nvim (at least 3.5 at 100 MB, 10 at 1 GB)\n", median("ours", rate)/median("nvim", rate))
	fmt.Printf("memory       %.3f x of 1.1 x the file + 200 B an edit (at most 1)\n", median("ours", rss)/limit)
	fmt.Printf("p99 an edit  %.1f µs (under 50)\n", median("ours", func(r result) float64 { return r.P99Us }))
}

// generate writes a file of lines and a list of places in it: a line and a
// byte in it, both from 0, a row.
func generate(file, list string, mb, edits int) (int64, error) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var block strings.Builder
	var lengths []int
	for block.Len() < 1<<20 {
		n := 5 + rnd.IntN(100)
		lengths = append(lengths, n)
		for range n {
			block.WriteByte("abcdefghijklmnopqrstuvwxyz (){}=;,.   "[rnd.IntN(38)])
		}
		block.WriteByte('\n')
	}
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	blocks := mb * (1 << 20) / block.Len()
	for range blocks {
		if _, err := f.WriteString(block.String()); err != nil {
			return 0, err
		}
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	var places strings.Builder
	for range edits {
		line := rnd.IntN(blocks * len(lengths))
		fmt.Fprintf(&places, "%d %d\n", line, rnd.IntN(lengths[line%len(lengths)]+1))
	}
	return int64(blocks) * int64(block.Len()), os.WriteFile(list, []byte(places.String()), 0o600)
}

// lua is the same work in Neovim, with its undo and an event for each change.
const lua = `local file, list = unpack(vim.g.bench)
local rows, cols = {}, {}
for line in io.lines(list) do
  local r, c = line:match("(%d+) (%d+)")
  rows[#rows + 1], cols[#cols + 1] = tonumber(r), tonumber(c)
end
local function now() return vim.loop.hrtime() / 1e6 end
local t = now()
vim.cmd("edit " .. file)
local load = now() - t
local set, text = vim.api.nvim_buf_set_text, { "x" }
vim.api.nvim_buf_attach(0, false, { on_bytes = function() end })
t = now()
for i = 1, #rows do
  set(0, rows[i], cols[i], rows[i], cols[i], text)
end
local edits = now() - t
local bytes = vim.api.nvim_buf_get_offset(0, vim.api.nvim_buf_line_count(0))
io.stdout:write(string.format('{"loadMs":%f,"editsMs":%f,"bytes":%d}\n', load, edits, bytes))
io.stdout:flush()
io.stdin:read("*a")
vim.cmd("qall!")
`
