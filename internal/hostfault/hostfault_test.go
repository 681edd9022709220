package hostfault_test

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/hostfault"
)

func TestIs_FaultsOfTheHostAlone(t *testing.T) {
	t.Parallel()
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.ENOMEM, syscall.EROFS, syscall.ENFILE, syscall.EMFILE, syscall.EIO} {
		require.True(t, hostfault.Is(fmt.Errorf("write: %w", &fs.PathError{Op: "write", Err: errno})), errno.Error())
	}
	for _, err := range []error{nil, errors.New("odd"), syscall.ELOOP, syscall.EISDIR, syscall.ENOTDIR, syscall.EACCES, syscall.ENOENT} {
		require.False(t, hostfault.Is(err), "%v", err)
	}
}

func TestInText_WordsOfGit(t *testing.T) {
	t.Parallel()
	for _, printed := range []string{
		"fatal: sha1 file '<stdout>' write error: No space left on device", "fatal: Out of memory, malloc failed (tried to allocate 9 bytes)",
		"error: index-pack died of signal 9", "fatal: cannot create async thread: Resource temporarily unavailable", "write: Disk quota exceeded",
	} {
		require.True(t, hostfault.InText(printed), printed)
	}
	for _, printed := range []string{"", "fatal: early EOF\nfatal: index-pack failed", "error: object 12ab: hasDotgit: contains '.git'"} {
		require.False(t, hostfault.InText(printed), printed)
	}
}
