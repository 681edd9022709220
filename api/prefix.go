package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/omoi-dev/omoi/internal/token"
)

// tokenPrefix stands before every route for workers that can send no header: the rest of
// the path's first part is a sandbox token.
const tokenPrefix = "/t/"

type prefixKey struct{}

func prefixToken(ctx context.Context) string {
	credential, _ := ctx.Value(prefixKey{}).(string)
	return credential
}

// cutPrefix takes the token out of the path, so that no route, log or error sees it. An API
// key that stands there opens nothing: proxies and shells keep paths.
func cutPrefix(r *http.Request) *http.Request {
	rest, ok := strings.CutPrefix(r.URL.Path, tokenPrefix)
	if !ok {
		return r
	}
	credential, path, _ := strings.Cut(rest, "/")
	if token.Looks(credential) {
		r = r.WithContext(context.WithValue(r.Context(), prefixKey{}, credential))
	}
	u := *r.URL
	u.Path, u.RawPath = "/"+path, ""
	if raw := r.URL.RawPath; raw != "" {
		_, rawPath, _ := strings.Cut(strings.TrimPrefix(raw, tokenPrefix), "/")
		u.RawPath = "/" + rawPath
	}
	r.URL, r.RequestURI = &u, u.RequestURI()
	return r
}
