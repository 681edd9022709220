package app

import (
	"errors"
	"syscall"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/devstack"
)

// besideEmulator points a configuration without a Daytona key at the emulator of a running omoi dev with the same home.
// The result reports whether there is one.
func besideEmulator(cfg *config.Loaded) bool {
	if cfg.Daytona.APIKey != "" {
		return false
	}
	info, err := devstack.ReadInfo(cfg.Home)
	if err != nil || info.DaytonaURL == "" || !runs(info.PID) {
		return false
	}
	cfg.Daytona.APIURL, cfg.Daytona.APIKey = info.DaytonaURL, config.Secret(info.DaytonaKey)
	return true
}

// runs reports whether a process exists. The file dev.json stays behind after a kill.
func runs(pid int) bool {
	return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
