//go:build !linux

package main

import (
	"context"
	"errors"
)

var errLinux = errors.New("real agents run only in Linux namespaces")

func enter(context.Context, options, string, string) (int, error) { return 1, errLinux }

func settle(options) (string, error) { return "", errLinux }
