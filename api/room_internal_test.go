package api

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// Bodies that do not fit beside the others are turned away before they are read; one alone
// always fits, and who leaves makes room.
func TestBodiesShareARoom(t *testing.T) {
	t.Parallel()
	plain := func(length int64) *http.Request { return &http.Request{ContentLength: length, Header: http.Header{}} }
	packed := plain(30)
	packed.Header.Set("Content-Encoding", "gzip")
	m := &room{bytes: 1000}
	leave, err := m.enter(plain(600), 5000)
	require.NoError(t, err)
	other, err := m.enter(packed, 5000)
	require.NoError(t, err, "300 unpacked")
	_, err = m.enter(plain(101), 5000)
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
	_, err = m.enter(plain(-1), 5000)
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err), "of unknown length: as long as may be")
	leave()
	other()
	leave, err = m.enter(plain(4000), 5000)
	require.NoError(t, err)
	leave()
	require.Zero(t, m.taken.Load())
}
