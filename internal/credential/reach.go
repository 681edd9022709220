package credential

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// errPrivate reports an address in the server's own network.
var errPrivate = errors.New("the address is not public")

// reach decides which addresses a test may call. Users choose base URLs, and a test must not tell them what exists in
// the server's own network.
type reach struct {
	private bool     // allow addresses that are not public
	own     []string // host:port of configured URLs, always allowed
}

func newReach(cfg Config) reach {
	r := reach{private: cfg.TestPrivate}
	for _, base := range []string{cfg.GitHubURL, cfg.AnthropicURL, cfg.Installation[Anthropic].BaseURL} {
		if u, err := url.Parse(base); err == nil && u.Host != "" {
			r.own = append(r.own, hostPort(u))
		}
	}
	return r
}

// Client returns the client for one request to an address that a user chose. It calls only public addresses, unless
// private is set, and follows no redirects.
func Client(req *http.Request, private bool) (*http.Client, error) {
	return reach{private: private}.client(req)
}

func hostPort(u *url.URL) string {
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
}

// client returns the client for one request. It follows no redirect, so that the secret reaches no other server.
func (r reach) client(req *http.Request) (*http.Client, error) {
	free := r.private || slices.Contains(r.own, hostPort(req.URL))
	proxy, err := http.ProxyFromEnvironment(req)
	if err != nil {
		return nil, err
	}
	if proxy != nil && !free {
		if err := r.throughProxy(req.Context(), req.URL.Hostname()); err != nil {
			return nil, err
		}
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		return check(address, free || proxy != nil) // the operator chose the proxy, so its address may be private
	}}
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyURL(proxy), DialContext: dialer.DialContext, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// throughProxy resolves the host, since the dialer sees the address of the proxy only. A host that does not resolve is
// allowed: the proxy may resolve it.
func (r reach) throughProxy(ctx context.Context, host string) error {
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err == nil && slices.ContainsFunc(addresses, func(ip netip.Addr) bool { return !public(ip.Unmap()) }) {
		return errPrivate
	}
	return nil
}

// check refuses link-local and multicast addresses even if free is set: link-local addresses serve a cloud's metadata.
func check(address string, free bool) error {
	at, err := netip.ParseAddrPort(address)
	ip := at.Addr().Unmap()
	switch {
	case err != nil, ip.IsLinkLocalUnicast(), ip.IsMulticast():
		return fmt.Errorf("reach provider %s: %w", address, errPrivate)
	case !free && !public(ip):
		return errPrivate
	}
	return nil
}

// special returns address ranges that net/netip counts as global unicast but that are not public.
func special() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/32"),
		netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("::/96"),
	}
}

func public(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(special(), func(p netip.Prefix) bool { return p.Contains(ip) })
}

// shownAddress returns a base URL with its password replaced by xxxxx.
func shownAddress(base string) string {
	if u, err := url.Parse(base); err == nil {
		return u.Redacted()
	}
	return "an invalid URL"
}
