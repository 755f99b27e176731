// Package gen derives what is written about the core protocol from its
// declarations: the reference pages, and the frozen file of the released
// level (core.md §3, §7). Its tests fail where a file isn't fresh, and write
// it with -update.
package gen
