// Package config reads the user's and a project's config.toml, lays them and
// the environment over the defaults, and says of each value where it came
// from (spec/cli.md "Configuration"). Keys are strict. What a project's file
// allows, starts, inherits or sets as agent counts only while the user trusts
// that file, by its hash; what it denies always counts.
//
// Nothing here reads the process's environment or knows who uses a value.
package config
