package api

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/omoi-dev/omoi/api/ui"
	"github.com/omoi-dev/omoi/internal/webguard"
)

// pageRoutes are the routes of the web page in addition to /. The page itself reads the rest of the path and the query.
func pageRoutes() []string {
	return []string{"/tasks", "/tasks/*rest", "/sandbox/*rest", "/fleet", "/compare", "/settings"}
}

// registerPage registers the web page. Everything that the page shows comes from the API; the files are public.
func (a *API) registerPage() {
	for _, path := range pageRoutes() {
		a.onPage(path, func(*gin.Context) string { return ui.Index })
	}
	a.onPage("/assets/*file", func(c *gin.Context) string { return strings.TrimPrefix(c.Request.URL.Path, "/") })
	for name := range ui.Files() {
		if !strings.Contains(name, "/") && name != ui.Index {
			a.onPage("/"+name, func(*gin.Context) string { return name })
		}
	}
}

func (a *API) onPage(path string, name func(*gin.Context) string) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		a.forms[formKey{method, path}] = &form{count: a.deps.Meter.Route(method, path), tolerant: true}
		a.routes.Handle(method, path, func(c *gin.Context) { a.servePage(c, http.StatusOK, name(c)) })
	}
}

// noRoute responds to a request for an unknown route. Browsers get the page, which says so.
func (a *API) noRoute(c *gin.Context) {
	c.Header("Vary", "Accept")
	if wantsPage(c.Request) && !strings.HasPrefix(c.Request.URL.Path, "/api/") {
		a.servePage(c, http.StatusNotFound, ui.Index)
		return
	}
	a.writeError(c.Writer, c.Request, httpError(http.StatusNotFound, "Unknown route %s. Next: GET /api/v1/openapi.json lists all routes", clip(c.Request.URL.Path)))
}

// wantsPage reports whether a request is for a page that a browser shows.
func wantsPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// servePage responds with a file of the page.
func (a *API) servePage(c *gin.Context, status int, name string) {
	if err := a.noForeignPage(c.Request); err != nil {
		a.writeError(c.Writer, c.Request, err)
		return
	}
	file, ok := ui.Files()[name]
	if !ok {
		a.writeError(c.Writer, c.Request, httpError(http.StatusNotFound, "Unknown file %s of the page. Next: reload the page", clip(name)))
		return
	}
	content, h := file.Plain, c.Writer.Header()
	for _, coding := range []string{"br", "gzip"} {
		if !strings.Contains(c.GetHeader("Accept-Encoding"), coding) {
			continue
		}
		if packed := file.Encoded(coding); packed != nil {
			content = packed
			h.Set("Content-Encoding", coding)
			break
		}
	}
	h.Set("Content-Type", file.Type)
	h.Set("Content-Length", strconv.Itoa(len(content)))
	h.Set("Vary", "Accept, Accept-Encoding")
	h.Set("Content-Security-Policy", ui.Policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	if ui.Immutable(name) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	c.Status(status)
	if c.Request.Method != http.MethodHead {
		_, _ = c.Writer.Write(content) // the browser may have disconnected
	}
}

// noForeignPage is noPage for files of the page: links of other sites may lead to the page, which they cannot read.
func (a *API) noForeignPage(r *http.Request) error {
	if a.cfg.Open && !bySocket(r) && webguard.Navigation(r) {
		return webguard.CheckHost(r, a.cfg.AllowedHosts)
	}
	return a.noPage(r)
}
