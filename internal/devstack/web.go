package devstack

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/webguard"
)

// web is the Temporal Web UI as browsers reach it: a reverse proxy that checks each request,
// since the UI itself serves any page that knows its address.
type web struct {
	hosts    []string // allowed besides the names of loopback
	host     string   // of the UI itself
	port     int      // of the UI itself
	listener net.Listener
	server   *http.Server
	backend  *http.Transport
	done     chan struct{} // closed when the server has ended
}

// openWeb listens on the port that users are told, and chooses a hidden address for the UI.
func openWeb(ctx context.Context, cfg Config) (w *web, err error) {
	w = &web{hosts: cfg.WebHosts, backend: &http.Transport{}, done: make(chan struct{})}
	if err = w.hide(ctx); err != nil {
		return nil, err
	}
	if w.listener, err = cfg.TemporalUIPort.listen(ctx, loopback, "dev.temporal_ui_port"); err != nil {
		return nil, err
	}
	w.server = &http.Server{
		Handler: w.proxy(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelWarn),
	}
	go func() {
		defer close(w.done)
		_ = w.server.Serve(w.listener) // ends with close
	}()
	return w, nil
}

// proxy checks requests and passes them on; answers are passed on as they come.
func (w *web) proxy() http.Handler {
	target := &url.URL{Scheme: "http", Host: net.JoinHostPort(w.host, strconv.Itoa(w.port))}
	pass := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     w.backend,
		FlushInterval: -1,
		ErrorHandler: func(out http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(out, "The Temporal Web UI does not answer. Next: reload this page in a few seconds.", http.StatusBadGateway)
		},
	}
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if err := w.check(r); err != nil {
			http.Error(out, err.Error(), http.StatusForbidden)
			return
		}
		pass.ServeHTTP(out, r)
	})
}

// check lets a link on any page open the UI in a tab, and else the UI's own pages only.
func (w *web) check(r *http.Request) error {
	if webguard.Navigation(r) {
		return webguard.CheckHost(r, w.hosts)
	}
	return webguard.Check(r, w.hosts)
}

func (w *web) url() string { return "http://" + w.listener.Addr().String() }

func (w *web) close() error {
	err := w.server.Close()
	<-w.done
	w.backend.CloseIdleConnections()
	if closed := w.listener.Close(); !errors.Is(closed, net.ErrClosed) { // Serve may not have taken it over
		err = errors.Join(err, closed)
	}
	return err
}

// hide chooses where the UI itself listens: an address of loopback that a page would have to guess
// out of 2^36, or, on systems with one such address, a port to which no browser connects.
func (w *web) hide(ctx context.Context) (err error) {
	if runtime.GOOS != "linux" {
		w.host, w.port = loopback, unsafePort(ctx, 0)
	} else {
		var b [3]byte
		_, _ = rand.Read(b[:]) // it never fails
		w.host = net.IPv4(127, b[0]&0x7f|1, b[1], b[2]|1).String()
	}
	if w.port == 0 {
		w.port, err = Port{}.Choose(ctx, w.host, "the Temporal Web UI")
	}
	return err
}

// unsafePort is a free port to which no browser connects, by the list "bad port" of the Fetch
// standard; 0 where none is free. It is never taken.
func unsafePort(ctx context.Context, taken int) int {
	ports := []int{1719, 1720, 1723, 3659, 4045, 4190, 5060, 5061, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
	var b [1]byte
	_, _ = rand.Read(b[:])
	var lc net.ListenConfig
	first := int(b[0]) % len(ports) // several stacks that start at once seldom choose the same one
	for _, port := range slices.Concat(ports[first:], ports[:first]) {
		if port == taken {
			continue
		}
		if l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(port))); err == nil && l.Close() == nil {
			return port
		}
	}
	return 0
}
