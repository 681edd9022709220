// Package npm installs pinned programs for tests, with the user's configuration of npm, in the user's cache.
package npm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Program is a pinned program of a package.
type Program struct {
	Folder  string // folder in the cache
	Package string
	Version string
	Name    string // name of the program
	// Works reports whether the installed program is the pinned one.
	Works func(ctx context.Context, path string) bool
}

const installWait = 5 * time.Minute

// Install returns the path of the program, which it installs once: processes that want the same version wait for each
// other.
func (p Program) Install(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for %s: %w", p.Package, err)
	}
	dir := filepath.Join(cache, "omoi", p.Folder, p.Version)
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
	path := filepath.Join(dir, "node_modules", ".bin", p.Name)
	if p.Works(ctx, path) {
		return path, nil
	}
	if err := p.fetch(ctx, dir); err != nil {
		return "", err
	}
	if !p.Works(ctx, path) {
		return "", fmt.Errorf("%s does not work", path)
	}
	return path, nil
}

func (p Program) fetch(ctx context.Context, dir string) error {
	if _, err := exec.LookPath("npm"); err != nil {
		return errors.New("there is no npm")
	}
	ctx, cancel := context.WithTimeout(ctx, installWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--loglevel=error", //nolint:gosec // a pinned version
		p.Package+"@"+p.Version)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install: %w: %s", err, out)
	}
	return nil
}
