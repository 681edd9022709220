// Package openhands installs the OpenHands agent server for tests, and starts it.
package openhands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/openhands"
)

// Asked is the variable that makes tests run the real server, which pip may have to install.
const Asked = "OMOI_OPENHANDS_TEST"

// Skip says why a test does not run, and what would make it run.
const Skip = "SKIPPED: the real OpenHands server is run by make openhands-test, which may ask pip for it; by hand: " + openhands.Install

const installWait = 30 * time.Minute

// Install returns the path of the program of the tested version: OMOI_OPENHANDS_BIN, or one that it installs once in the user's cache.
// Processes wait for each other.
func Install(ctx context.Context) (string, error) {
	if path := os.Getenv("OMOI_OPENHANDS_BIN"); path != "" {
		_, err := openhands.Installed(ctx, path, nil)
		return path, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for OpenHands: %w", err)
	}
	dir := filepath.Join(cache, "omoi", "openhands", openhands.Tested)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", fmt.Errorf("wait for another installation: %w", err)
	}
	path := filepath.Join(dir, "venv", "bin", openhands.Program)
	if _, err := openhands.Installed(ctx, path, nil); err == nil {
		return path, nil
	}
	if err := fetch(ctx, filepath.Join(dir, "venv")); err != nil {
		return "", err
	}
	_, err = openhands.Installed(ctx, path, nil)
	return path, err
}

// fetch makes a Python environment with the packages.
func fetch(ctx context.Context, dir string) error {
	python, err := findPython()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, installWait)
	defer cancel()
	pip := []string{filepath.Join(dir, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check"}
	for _, name := range openhands.Packages {
		pip = append(pip, name+"=="+openhands.Tested)
	}
	for _, args := range [][]string{{python, "-m", "venv", dir}, pip} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil { //nolint:gosec // pinned versions
			return fmt.Errorf("%s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// findPython returns a Python that the server supports.
func findPython() (string, error) {
	for _, name := range []string{"python3.12", "python3.13", "python3"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if exec.Command(path, "-c", "import sys; sys.exit(sys.version_info < (3, 12))").Run() == nil { //nolint:gosec,noctx // ends at once
			return path, nil
		}
	}
	return "", errors.New("there is no Python 3.12 or later")
}
