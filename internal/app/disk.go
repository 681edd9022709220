//go:build unix

package app

import "golang.org/x/sys/unix"

// freeBytes is what an ordinary user may still write below dir.
func freeBytes(dir string) (uint64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, err
	}
	return stat.Bavail * uint64(stat.Bsize), nil //nolint:gosec // its type differs between systems
}
