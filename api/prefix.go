package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/omoi-dev/omoi/internal/token"
)

// tokenPrefix precedes a sandbox token in the path of any route, for workers that cannot send headers.
const tokenPrefix = "/t/"

type prefixKey struct{}

func prefixToken(ctx context.Context) string {
	credential, _ := ctx.Value(prefixKey{}).(string)
	return credential
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
	u := *r.URL
	u.Path, u.RawPath = "/"+path, ""
	if raw := r.URL.RawPath; raw != "" {
		_, rawPath, _ := strings.Cut(strings.TrimPrefix(raw, tokenPrefix), "/")
		u.RawPath = "/" + rawPath
	}
	r.URL, r.RequestURI = &u, u.RequestURI()
	return r
}
