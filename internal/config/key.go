package config

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// A Key names a setting as section.key.
type Key string

// The settings that aren't tables (spec/cli.md).
const (
	LineBytes    Key = "limits.lineBytes"
	InFlight     Key = "limits.inFlight"
	QueueBytes   Key = "limits.queueBytes"
	RingBytes    Key = "limits.ringBytes"
	UndoBytes    Key = "limits.undoBytes"
	MaxFileBytes Key = "limits.maxFileBytes"
	ConnectMs    Key = "timeouts.connectMs"
	OpenMs       Key = "timeouts.openMs"
	StalledMs    Key = "timeouts.stalledMs"
	DeadlineMs   Key = "permission.deadlineMs"
	Unattended   Key = "permission.unattended"
	Roots        Key = "core.roots"
	Inherit      Key = "env.inherit"
)

// Variable is the environment variable that sets the key.
func (k Key) Variable() string {
	return "DRAGOMAN_" + strings.ToUpper(strings.ReplaceAll(string(k), ".", "_"))
}

// A kind says which values a setting takes.
type kind interface {
	// check takes a value as TOML gives it and returns it as ours.
	check(v any) (any, error)
	// parse reads an environment variable.
	parse(text string) (any, error)
}

// A setting is what is known of a key.
type setting struct {
	key   Key
	kind  kind
	value any // the default
	// needsTrust tells that a project's file sets it only when trusted.
	needsTrust bool
}

const (
	kib = int64(1) << 10
	mib = kib << 10
	gib = mib << 10
)

// settings is the one table of them, in the order in which they are shown.
var settings = []setting{
	{LineBytes, number{4 * kib, 64 * mib}, 64 * mib, false},
	{InFlight, number{1, 1 << 20}, int64(1024), false},
	{QueueBytes, number{64 * kib, 4 * gib}, 64 * mib, false},
	{RingBytes, number{64 * kib, 4 * gib}, 16 * mib, false},
	{UndoBytes, number{1, 4 * gib}, 64 * mib, false},
	{MaxFileBytes, number{1, 1 << 50}, 2 * gib, false},
	{ConnectMs, number{1, math.MaxInt32}, int64(30_000), false},
	{OpenMs, number{1, math.MaxInt32}, int64(120_000), false},
	{StalledMs, number{1, math.MaxInt32}, int64(60_000), false},
	{DeadlineMs, number{0, math.MaxInt32}, int64(0), true},
	{Unattended, word{"wait", "reject", "cancel"}, "wait", true},
	{Roots, list{string(os.PathListSeparator)}, []string{}, true},
	{Inherit, list{","}, []string{}, true},
}

func lookup(k Key) *setting {
	for i := range settings {
		if settings[i].key == k {
			return &settings[i]
		}
	}
	return nil
}

// number is a whole number within bounds.
type number struct{ least, most int64 }

func (n number) check(v any) (any, error) {
	i, ok := v.(int64)
	if !ok || i < n.least || i > n.most {
		return nil, fmt.Errorf("wants a whole number from %d to %d", n.least, n.most)
	}
	return i, nil
}

func (n number) parse(text string) (any, error) {
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return n.check(nil)
	}
	return n.check(i)
}

// word is one of a closed set.
type word []string

func (w word) check(v any) (any, error) {
	for _, known := range w {
		if v == known {
			return known, nil
		}
	}
	return nil, fmt.Errorf("wants one of %s", strings.Join(w, ", "))
}

func (w word) parse(text string) (any, error) { return w.check(text) }

// list is a list of strings; in the environment they are separated.
type list struct{ separator string }

func (l list) check(v any) (any, error) {
	items, ok := v.([]any)
	all := make([]string, 0, len(items))
	for _, item := range items {
		s, isText := item.(string)
		ok = ok && isText && s != ""
		all = append(all, s)
	}
	if !ok {
		return nil, fmt.Errorf("wants a list of strings")
	}
	return all, nil
}

func (l list) parse(text string) (any, error) {
	all := []string{}
	for s := range strings.SplitSeq(text, l.separator) {
		if s != "" {
			all = append(all, s)
		}
	}
	return all, nil
}
