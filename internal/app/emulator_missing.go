//go:build !emulator

package app

import "context"

// emulatorLinked reports whether this build contains the Daytona emulator.
const emulatorLinked = false

func (*dev) startEmulator(context.Context) (func() error, error) { return nil, errNoEmulator() }
