package postgres

import (
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// A connection lost during a response means that the database is unavailable, and the caller retries.
func TestTranslate_LostConnection(t *testing.T) {
	t.Parallel()
	for _, lost := range []error{
		io.ErrUnexpectedEOF, io.EOF, fmt.Errorf("receive message failed: %w", io.ErrUnexpectedEOF),
		&net.OpError{Op: "read", Err: syscall.ECONNRESET}, &net.OpError{Op: "write", Err: syscall.EPIPE}, net.ErrClosed,
	} {
		require.Equal(t, task.CodeUnavailable, task.CodeOf(translate("store events", lost)), "%v", lost)
	}
}

// A full disk needs an operator and is not a busy database.
func TestTranslate_FullDisk(t *testing.T) {
	t.Parallel()
	err := translate("store events", &pgconn.PgError{Code: "53100"})
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
	require.Contains(t, task.MessageOf(err), "disk of the database is full")
	require.NotContains(t, task.MessageOf(translate("store events", &pgconn.PgError{Code: "53300"})), "disk")
}
