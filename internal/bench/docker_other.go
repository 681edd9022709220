//go:build !linux

package bench

import "context"

func startEngine(context.Context) (engine, error) { return engine{}, errNoEngine }
