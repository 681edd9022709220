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

// Port is a wish for a port.
type Port struct {
	Want  int  // 0: any free one
	Fixed bool // a person asked for Want: a taken one is an error instead of a reason to move
	Last  int  // the one of the last start, taken again where the choice is free; 0: none
}

// Choose answers a port of host on which nobody listens.
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

// reserve makes a connection and ends it from the listener's side: while Linux remembers it, for
// a minute, it hands the port to nobody who asks for any port, and lets a listener have it that
// asks for this one. Where it does not work the port is merely not reserved.
func reserve(ctx context.Context, listener net.Listener) {
	if runtime.GOOS != "linux" {
		return // others hand out ports in turn
	}
	dialer := net.Dialer{Timeout: time.Second}
	near, err := dialer.DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		return
	}
	defer func() { _ = near.Close() }()
	if far, err := listener.Accept(); err == nil {
		_ = far.Close() // the side that closes first is remembered
	}
}

// PortOf is the port of an address or of a base URL; 0 if it has none.
func PortOf(address string) int {
	if _, rest, isURL := strings.Cut(address, "://"); isURL {
		address, _, _ = strings.Cut(rest, "/")
	}
	_, text, _ := net.SplitHostPort(address)
	port, _ := strconv.Atoi(text) // 0 if there is none
	return port
}
