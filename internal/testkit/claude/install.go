// Package claude gets the real Claude Code for tests: pinned versions from npm, kept in the
// user's cache. The program is proprietary and no part of omoi.
package claude

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Versions are those that tests run. They are exact, since npm otherwise chooses by the version
// of Node that a machine has.
func Versions() []string { return []string{"2.1.197", "2.1.328"} }

// Asked is the variable that asks for tests with the real program: they may need the network.
const Asked = "OMOI_CLAUDE_TEST"

const installWait = 5 * time.Minute

// Install answers the path of one version of the program. A test that cannot have it is
// skipped, and says why.
func Install(tb testing.TB, version string) string {
	tb.Helper()
	if os.Getenv(Asked) == "" {
		tb.Skipf("SKIPPED: the real Claude Code is run by make claude-test, which may ask npm for it")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		tb.Skipf("SKIPPED: no place to keep Claude Code: %v", err)
	}
	dir := filepath.Join(cache, "omoi", "claude-code", version)
	path, err := install(tb.Context(), dir, version)
	if err != nil {
		tb.Skipf("SKIPPED: Claude Code %s cannot be installed, so nothing was tested with it: %v", version, err)
	}
	return path
}

// install does so once: processes that want the same version wait for each other.
func install(ctx context.Context, dir, version string) (string, error) {
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
	path := filepath.Join(dir, "node_modules", ".bin", "claude")
	if works(ctx, path, version) {
		return path, nil
	}
	if err := npm(ctx, dir, version); err != nil {
		return "", err
	}
	if !works(ctx, path, version) {
		return "", fmt.Errorf("%s does not work", path)
	}
	return path, nil
}

func works(ctx context.Context, path, version string) bool {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	return err == nil && len(out) > len(version) && string(out[:len(version)]) == version
}

func npm(ctx context.Context, dir, version string) error {
	if _, err := exec.LookPath("npm"); err != nil {
		return errors.New("there is no npm")
	}
	ctx, cancel := context.WithTimeout(ctx, installWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--loglevel=error", //nolint:gosec // a pinned version
		"@anthropic-ai/claude-code@"+version)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install: %w: %s", err, out)
	}
	return nil
}
