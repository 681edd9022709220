package api

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/token"
)

// tokenPrefix precedes a sandbox token in the path of any route, for workers that cannot send headers.
const tokenPrefix = "/t/"

// legacyPrefix precedes the path of any route, for clients of OmoiOS, which put it into their base address. A route that
// is registered below the prefix keeps the form of OmoiOS; all others are served as without the prefix.
const legacyPrefix = "/legacy"

type prefixKey struct{}

func prefixToken(ctx context.Context) string {
	credential, _ := ctx.Value(prefixKey{}).(string)
	return credential
}

// cutPrefixes removes the prefixes of a path, in any order, and restores legacyPrefix before a route that has it.
func (a *API) cutPrefixes(r *http.Request) *http.Request {
	r, before := cutLegacy(r)
	r, after := cutLegacy(cutPrefix(r))
	if (before || after) && a.legacy.MatchString(r.Method+" "+r.URL.Path) {
		return withPath(r, legacyPrefix+r.URL.Path, legacyPrefix+r.URL.RawPath)
	}
	return r
}

func cutLegacy(r *http.Request) (*http.Request, bool) {
	path, ok := strings.CutPrefix(r.URL.Path, legacyPrefix+"/")
	if !ok {
		return r, false
	}
	return withPath(r, "/"+path, strings.TrimPrefix(r.URL.RawPath, legacyPrefix)), true
}

// cutPrefix removes the token from the path, so that no route, log or error contains the token. It does not accept an
// API key, since proxies and shells store paths.
func cutPrefix(r *http.Request) *http.Request {
	rest, ok := strings.CutPrefix(r.URL.Path, tokenPrefix)
	if !ok {
		return r
	}
	credential, path, _ := strings.Cut(rest, "/")
	if token.Looks(credential) {
		r = r.WithContext(context.WithValue(r.Context(), prefixKey{}, credential))
	}
	_, rawPath, _ := strings.Cut(strings.TrimPrefix(r.URL.RawPath, tokenPrefix), "/")
	return withPath(r, "/"+path, "/"+rawPath)
}

// withPath returns the request for another path. raw is its escaped form, which counts only if the request had one.
func withPath(r *http.Request, path, raw string) *http.Request {
	u := *r.URL
	u.Path = path
	if u.RawPath != "" {
		u.RawPath = raw
	}
	r = r.WithContext(r.Context())
	r.URL, r.RequestURI = &u, u.RequestURI()
	return r
}

// legacyRoutes returns an expression that matches method and path, without legacyPrefix, of the routes that have it.
func (a *API) legacyRoutes() *regexp.Regexp {
	var routes []string
	for form := range a.forms {
		if path, ok := strings.CutPrefix(form.path, legacyPrefix); ok {
			routes = append(routes, form.method+" "+strings.ReplaceAll(path, ":id", "[^/]+"))
		}
	}
	slices.Sort(routes)
	return regexp.MustCompile(`^(` + strings.Join(routes, "|") + `)$`)
}
