package devstack

import (
	"context"
	"net"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Port is a request for a TCP port.
type Port struct {
	Want  int  // 0: any free port
	Fixed bool // a user set Want: if the port is in use, Choose fails
	Last  int  // port of the last start, preferred if Want is in use or 0; 0: none
}

// Choose returns a port of host on which nothing listens.
func (p Port) Choose(ctx context.Context, host, name string) (int, error) {
	listener, err := p.listen(ctx, host, name)
	if err != nil {
		return 0, err
	}
	reserve(ctx, listener)
	return PortOf(listener.Addr().String()), listener.Close()
}

// listen listens on the port that Choose returns.
func (p Port) listen(ctx context.Context, host, name string) (net.Listener, error) {
	tries := []int{p.Want, p.Last, 0}
	switch {
	case p.Fixed && p.Want != 0:
		tries = []int{p.Want}
	case p.Want == 0:
		tries = []int{p.Last, 0}
	}
	var lc net.ListenConfig
	for _, port := range tries {
		if listener, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			return listener, nil
		}
	}
	return nil, task.Errorf(task.CodeConflict, "Port %d of %s is in use. Next: set %s to another port, or to 0 for a free one", p.Want, host, name)
}

// reserve opens a connection to the listener and closes it from the listener's side. For about a minute (TIME_WAIT),
// Linux then assigns the port only to a listener that requests it by number. If reserve fails, the port is not
// reserved.
func reserve(ctx context.Context, listener net.Listener) {
	if runtime.GOOS != "linux" {
		return // other systems assign ports in sequence
	}
	dialer := net.Dialer{Timeout: time.Second}
	near, err := dialer.DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		return
	}
	defer func() { _ = near.Close() }()
	if far, err := listener.Accept(); err == nil {
		_ = far.Close() // the side that closes first enters TIME_WAIT
	}
}

// PortOf returns the port of an address or base URL; 0 if it has none.
func PortOf(address string) int {
	if _, rest, isURL := strings.Cut(address, "://"); isURL {
		address, _, _ = strings.Cut(rest, "/")
	}
	_, text, _ := net.SplitHostPort(address)
	port, _ := strconv.Atoi(text) // 0 if there is none
	return port
}
