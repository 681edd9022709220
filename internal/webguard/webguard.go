// Package webguard rejects the requests that a web page of another origin can make a browser send to a server on
// loopback. A server without authentication has no other protection.
package webguard

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Check returns [task.CodeForbidden] for a request with a foreign Host (DNS rebinding), from a foreign origin, or from
// a page of another site. hosts are the allowed names in addition to those of loopback.
func Check(r *http.Request, hosts []string) error {
	if err := CheckHost(r, hosts); err != nil {
		return err
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return task.Errorf(task.CodeForbidden, "Request rejected: it comes from a page of another origin, and authentication is disabled.").WithKind(task.KindOrigin)
	}
	if origin := r.Header.Get("Origin"); origin != "" && !sameOrigin(origin, r.Host) {
		return task.Errorf(task.CodeForbidden, "Request rejected: it comes from the origin %q, and authentication is disabled.", origin).WithKind(task.KindOrigin)
	}
	return nil
}

// CheckHost returns [task.CodeForbidden] for a request with a foreign Host.
func CheckHost(r *http.Request, hosts []string) error {
	if known(r.Host, hosts) {
		return nil
	}
	return task.Errorf(task.CodeForbidden,
		"Request rejected: %q is not a loopback name, and authentication is disabled. Next: use 127.0.0.1", r.Host).WithKind(task.KindOrigin)
}

// SameOrigin reports whether a browser sent a request from a page of the server itself. A request that changes nothing
// may lack both headers, by which older browsers do not name the page.
func SameOrigin(r *http.Request) bool {
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	}
	return !Foreign(r)
}

// Foreign reports whether a browser sent a request from a page of another origin. No page can set Sec-Fetch-Site, by
// which the browser compares the addresses as it knows them; a reverse proxy may have changed the Host.
func Foreign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site != "same-origin"
	}
	origin := r.Header.Get("Origin")
	return origin != "" && !sameOrigin(origin, r.Host)
}

// Navigation reports whether a browser requests a page to show in a tab, for example after a click on a link. The page
// with the link cannot read the response.
func Navigation(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

func known(hostport string, hosts []string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || (ip != nil && ip.IsLoopback()) ||
		slices.ContainsFunc(hosts, func(allowed string) bool { return strings.EqualFold(allowed, host) })
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}
