package command

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
)

// relay listens on loopback inside the sandbox and passes this sandbox's own routes, and no others, on by the
// given way. It adds the token, so that the program need not know one. What the address ends in keeps others of this
// machine out, with whom a sandbox may share the network.
func relay(way http.RoundTripper, cfg agentconfig.Config) (address string, done func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		return "", nil, fmt.Errorf("listen for the command: %w", err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "omoi", "omoi"
			if cfg.Token != "" {
				r.Out.Header.Set("Authorization", "Bearer "+cfg.Token)
			}
		},
		Transport: way,
		ErrorLog:  log.New(io.Discard, "", 0), // it shows as status 502
	}
	prefix := "/" + rand.Text()
	server := &http.Server{ReadHeaderTimeout: 30 * time.Second, Handler: http.StripPrefix(prefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" && !strings.HasPrefix(r.URL.Path, "/api/v1/sandboxes/"+cfg.SandboxID+"/") {
			http.NotFound(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return "http://" + listener.Addr().String() + prefix, func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			_ = listener.Close()
		}
	}, nil
}
