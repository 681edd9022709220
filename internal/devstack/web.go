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

// web is a reverse proxy in front of the Temporal Web UI that checks each request: the UI itself answers requests of
// any web page.
type web struct {
	hosts    []string // allowed besides loopback names
	host     string   // address of the UI itself
	port     int      // port of the UI itself
	listener net.Listener
	server   *http.Server
	backend  *http.Transport
	done     chan struct{} // closed after the server has ended
}

// openWeb listens on the public port of the UI and chooses a hidden address for the UI itself.
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

// proxy returns the handler that checks and forwards requests. Responses are flushed at once.
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

// check allows navigation from any page, and other requests only from pages of the UI.
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
	if closed := w.listener.Close(); !errors.Is(closed, net.ErrClosed) { // open if Serve has not started yet
		err = errors.Join(err, closed)
	}
	return err
}

// hide chooses the address of the UI itself. On Linux it is a random loopback address and port, 1 of 2^36; on other
// systems a port to which no browser connects.
func (w *web) hide(ctx context.Context) (err error) {
	if runtime.GOOS != "linux" {
		w.host, w.port = loopback, unsafePort(ctx, 0)
	} else {
		var b [3]byte
		_, _ = rand.Read(b[:]) // never fails
		w.host = net.IPv4(127, b[0]&0x7f|1, b[1], b[2]|1).String()
	}
	if w.port == 0 {
		w.port, err = Port{}.Choose(ctx, w.host, "the Temporal Web UI")
	}
	return err
}

// unsafePort returns a free port that browsers refuse, from the list of bad ports of the Fetch standard; 0: none is
// free. The port taken is not used.
func unsafePort(ctx context.Context, taken int) int {
	ports := []int{1719, 1720, 1723, 3659, 4045, 4190, 5060, 5061, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
	var b [1]byte
	_, _ = rand.Read(b[:])
	var lc net.ListenConfig
	first := int(b[0]) % len(ports) // stacks that start at the same time rarely choose the same port
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
