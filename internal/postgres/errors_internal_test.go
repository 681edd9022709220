package postgres

import (
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// A connection that is lost in mid-answer is a database that does not answer: the caller is
// told to try again.
func TestALostConnectionIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, lost := range []error{
		io.ErrUnexpectedEOF, io.EOF, fmt.Errorf("receive message failed: %w", io.ErrUnexpectedEOF),
		&net.OpError{Op: "read", Err: syscall.ECONNRESET}, &net.OpError{Op: "write", Err: syscall.EPIPE}, net.ErrClosed,
	} {
		require.Equal(t, task.CodeUnavailable, task.CodeOf(translate("store events", lost)), "%v", lost)
	}
}
