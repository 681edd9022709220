package api_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/ui"
)

func TestPage_RoutesShowItUnderItsPolicy(t *testing.T) {
	t.Parallel()
	w := closed(t)
	for _, path := range []string{
		"/", "/tasks", "/tasks?group=running&as=board", "/tasks/APP-12?attempt=2", "/tasks/APP-12/changes", "/tasks/APP-12/replay", "/sandbox/x",
		"/fleet?tab=queue", "/compare?a=APP-12:1&b=APP-12:2", "/settings",
	} {
		got := w.call(http.MethodGet, path, nil, "Accept", "text/html,*/*")
		require.Equal(t, http.StatusOK, got.status, path)
		h := got.header
		require.Equal(t, []string{"text/html; charset=utf-8", ui.Policy, "no-referrer", "same-origin", "no-cache", "nosniff", "DENY"}, []string{
			h.Get("Content-Type"), h.Get("Content-Security-Policy"), h.Get("Referrer-Policy"), h.Get("Cross-Origin-Opener-Policy"),
			h.Get("Cache-Control"), h.Get("X-Content-Type-Options"), h.Get("X-Frame-Options"),
		}, path)
		require.Empty(t, h.Get("Access-Control-Allow-Origin"))
	}
	for _, rule := range []string{"default-src 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'", "frame-ancestors 'none'"} {
		require.Contains(t, ui.Policy, rule)
	}
	require.NotContains(t, ui.Policy, "unsafe")
	require.NotContains(t, ui.Policy, "data:")
	require.Equal(t, http.StatusUnauthorized, w.call(http.MethodGet, "/api/v1/tasks", nil, "Accept", "text/html").status)
	require.Equal(t, "application/json; charset=utf-8", w.call(http.MethodGet, "/", nil).header.Get("Content-Type"), "programs get what they got")
	for _, path := range []string{"/assets/none.js", "/fleets", "/about"} {
		require.Equal(t, http.StatusNotFound, w.pageStatus(path), path)
	}
}

func TestPage_UnknownRouteIsAPageForBrowsersOnly(t *testing.T) {
	t.Parallel()
	w := closed(t)
	for _, path := range []string{"/nope", "/fleet/x"} {
		got := w.call(http.MethodGet, path, nil, "Accept", "text/html,*/*")
		require.Equal(t, http.StatusNotFound, got.status, path)
		require.Equal(t, []string{ui.Policy, "text/html; charset=utf-8", "Accept, Accept-Encoding"},
			[]string{got.header.Get("Content-Security-Policy"), got.header.Get("Content-Type"), got.header.Get("Vary")}, path)
		require.Equal(t, string(ui.Files()[ui.Index].Plain), string(got.body), path)
	}
	w.call(http.MethodGet, "/nope", nil, "Accept", "*/*").refused(http.StatusNotFound, "")
	w.call(http.MethodPost, "/nope", nil, "Accept", "text/html").refused(http.StatusNotFound, "")
	w.call(http.MethodGet, "/api/v1/nope", nil, "Accept", "text/html").refused(http.StatusNotFound, "")
	require.Equal(t, http.StatusForbidden, open(t).pageStatus("/nope", "Accept", "text/html", "Sec-Fetch-Site", "cross-site"))
}

func TestPage_FilesAreCompressedAndKept(t *testing.T) {
	t.Parallel()
	w := closed(t)
	for name, file := range ui.Files() {
		if !strings.HasPrefix(name, "assets/") {
			continue
		}
		got := w.call(http.MethodGet, "/"+name, nil, "Accept-Encoding", "gzip, br")
		require.Equal(t, []string{"br", "public, max-age=31536000, immutable"}, []string{got.header.Get("Content-Encoding"), got.header.Get("Cache-Control")}, name)
		require.Less(t, len(got.body), len(file.Plain))
		got = w.call(http.MethodGet, "/"+name, nil, "Accept-Encoding", "gzip")
		unpacked, err := gzip.NewReader(bytes.NewReader(got.body))
		require.NoError(t, err)
		content, err := io.ReadAll(unpacked)
		require.NoError(t, err)
		require.Equal(t, file.Plain, content, name)
		require.Equal(t, file.Plain, w.call(http.MethodGet, "/"+name, nil, "Accept-Encoding", "identity").body, name)
		require.Empty(t, w.call(http.MethodHead, "/"+name, nil).body)
	}
}

func TestPage_WithoutAuthenticationRejectsOtherSites(t *testing.T) {
	t.Parallel()
	w := open(t)
	asset := "/" + slices.Sorted(func(yield func(string) bool) {
		for name := range ui.Files() {
			if ui.Immutable(name) && !yield(name) {
				return
			}
		}
	})[0]
	navigation := []string{"Accept", "text/html", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Sec-Fetch-Site", "cross-site"}
	require.Equal(t, http.StatusOK, w.call(http.MethodGet, "/tasks", nil, navigation...).status, "a link of another site leads here")
	for path, headers := range map[string][]string{
		"/tasks": append(navigation, "Host", "evil.example"), asset: {"Sec-Fetch-Site", "cross-site"}, "/settings": {"Origin", "http://evil.example"},
	} {
		require.Equal(t, http.StatusForbidden, w.pageStatus(path, headers...), path)
	}
	require.Equal(t, http.StatusOK, w.call(http.MethodGet, asset, nil, "Sec-Fetch-Site", "same-origin").status)
}

// pageStatus returns the status of a route that the OpenAPI document does not have.
func (w *world) pageStatus(path string, headers ...string) int {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.url+path, http.NoBody)
	require.NoError(w.t, err)
	for n := 0; n+1 < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
	}
	req.Host = cmp.Or(req.Header.Get("Host"), req.Host)
	res, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	require.NoError(w.t, res.Body.Close())
	return res.StatusCode
}

func TestPage_AsksNoOtherHostAndMakesNoMarkup(t *testing.T) {
	t.Parallel()
	addresses := regexp.MustCompile("https?://[^\"'`\\s)]*")
	sinks := map[string]int{}
	for name, file := range ui.Files() {
		for _, found := range addresses.FindAllString(string(file.Plain), -1) {
			require.Regexp(t, `^https?://(www\.w3\.org/|react\.dev/errors/|tanstack\.com/|localhost$)`, found, "%s: names of namespaces and help texts only", name)
		}
		for _, sink := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "createElement(`style`)", `createElement("style")`, "eval(", "new Function"} {
			sinks[sink] += strings.Count(string(file.Plain), sink)
		}
	}
	for sink, n := range sinks {
		if n == 0 {
			delete(sinks, sink)
		}
	}
	require.Equal(t, map[string]int{"innerHTML": 5, "createElement(`style`)": 1}, sinks,
		"React alone names them, for properties and elements that the page never uses, and the policy refuses them")
}

func TestPage_KeepsItsBudget(t *testing.T) {
	t.Parallel()
	index := string(ui.Files()[ui.Index].Plain)
	brotli, first, all := 0, 0, 0
	for name, file := range ui.Files() {
		packed := len(cmp.Or(string(file.Encoded("gzip")), string(file.Plain)))
		if all += packed; name == ui.Index || strings.Contains(index, name) {
			brotli += len(file.Encoded("br"))
			first += packed
		}
		require.NotEmpty(t, file.Type, name)
	}
	require.Less(t, brotli, 170<<10, "what each route loads first, by brotli")
	require.Less(t, first, 195<<10, "what each route loads first, by gzip")
	require.Less(t, all, 450<<10, "all files, by gzip")
}
