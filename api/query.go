package api

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/omoi-dev/omoi/internal/task"
)

// form holds the counter and the query parameters of a route.
type form struct {
	count    func(status int, took time.Duration)
	tolerant bool            // unknown parameters are ignored
	params   map[string]bool // by name: whether it may be repeated
}

type formKey struct{ method, path string }

// known returns the form of a route. Its parameters come from the OpenAPI document, if the document has the route.
func (a *API) known(method, path string) *form {
	f := &form{count: a.deps.Meter.Route(method, path), tolerant: tolerant(path), params: map[string]bool{}}
	a.forms[formKey{method, strings.NewReplacer("{", ":", "}", "").Replace(path)}] = f
	return f
}

// finishForms reads the parameters of each route from the OpenAPI document.
func (a *API) finishForms() {
	for path, item := range a.huma.OpenAPI().Paths {
		for _, op := range operationsOf(item) {
			f := a.forms[formKey{op.Method, strings.NewReplacer("{", ":", "}", "").Replace(path)}]
			for _, p := range op.Parameters {
				if kind := idKinds()[idPart(path, p.Name)]; p.In == "path" && kind != "" && p.Description == "" {
					p.Description = "UUID of the " + kind + ", as the API returned it"
					if slices.Contains(slices.Collect(maps.Values(filterKinds())), kind) {
						p.Description = "UUID or key of the " + kind + ", as the API returned it"
					}
				}
				if p.In == "query" {
					p.Schema.Nullable = false // a list is absent or has at least one value
					f.params[p.Name] = p.Schema.Type == huma.TypeArray
				}
			}
		}
	}
}

// tolerant reports whether a route belongs to the legacy API, which ignores unknown body fields, so that legacy workers
// and agents of other versions keep working.
func tolerant(path string) bool {
	return slices.ContainsFunc([]string{
		"/api/v1/sandboxes/", "/api/v1/guardian/actions", "/api/v1/guardian/intervention/", "/api/v1/branch-workflow/",
		"/api/v1/monitor/", legacyPrefix + "/",
	}, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

// checkQuery is the middleware that rejects a query with unknown or repeated parameters.
func (a *API) checkQuery(c *gin.Context) {
	f := a.forms[formKey{c.Request.Method, c.FullPath()}]
	if c.Request.URL.RawQuery == "" || c.FullPath() == "" {
		return
	}
	if f == nil {
		f = &form{} // of a document
	}
	if err := f.check(c.Request.URL.RawQuery); err != nil {
		a.writeError(c.Writer, c.Request, err)
		c.Abort()
	}
}

func (f *form) check(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil && !f.tolerant {
		return task.Invalid("query", "Invalid query %q: %s.", clip(query), err)
	}
	for name, given := range values {
		repeatable, known := f.params[name]
		switch {
		case !known && !f.tolerant:
			return task.Invalid("query."+clip(name), "Unknown query parameter %q: this route accepts %s.",
				clip(name), f.accepted())
		case known && len(given) > 1 && !repeatable:
			return task.Invalid("query."+name, "Query parameter %s is given %d times: it accepts one value.", name, len(given))
		case repeatable && len(given) > 1 && slices.Contains(given, ""):
			return task.Invalid("query."+name, "Query parameter %s is repeated with an empty value.", name)
		case repeatable:
			if err := checkFilter(name, given); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFilter rejects an invalid ID in a filter.
func checkFilter(name string, given []string) error {
	kind := filterKinds()[name]
	if kind == "" || !strings.HasSuffix(name, "_id") { // other parameters accept parts of IDs, or text
		return nil
	}
	for _, id := range given {
		if _, key := task.KeyOf(kind, id); id != "" && !key && !isID(id) { // an empty filter is ignored
			return task.Invalid("query."+name, "Query parameter %s: %q is not a valid %s ID.", name, clip(id), kind)
		}
	}
	return nil
}

func (f *form) accepted() string {
	if len(f.params) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(f.params)), ", ")
}
