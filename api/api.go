package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
)

// API is the HTTP API as a handler. It is safe for concurrent use.
type API struct {
	cfg    Config
	deps   Deps
	log    *slog.Logger
	routes *gin.Engine
	huma   huma.API
	// security are headers of every answer.
	security http.Header
	turn     ingest.Turn // of large ones
	rest     *bodyLimit  // of the routes that have none of their own
	// unrouted counts requests that found no route.
	unrouted func(status int, took time.Duration)
	sockets  func(status int, took time.Duration) // counts those of the bus
	forms    map[formKey]*form

	stopOnce sync.Once
	stopping chan struct{}

	streams   sync.WaitGroup // those that outlive their request
	looks     *shared[place, stretch]
	taskLooks *shared[taskPlace, ingest.TaskPage]
	standings *shared[tenantTask, client.Standing]
	logins    *shared[login, caller]
	bulletins *shared[busStand, busPage]
	checks    *shared[owned, string]
}

// New makes the API. It starts nothing and asks nobody.
func New(cfg Config, deps Deps) *API {
	a := &API{cfg: cfg.withDefaults(), deps: deps, log: deps.Log, stopping: make(chan struct{}), security: security()}
	a.rest = newBodyLimit(bodyRoom, maxBody)
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.looks, a.taskLooks = newShared[place, stretch](a.log), newShared[taskPlace, ingest.TaskPage](a.log)
	a.standings = newShared[tenantTask, client.Standing](a.log)
	a.logins, a.bulletins = newShared[login, caller](a.log), newShared[busStand, busPage](a.log)
	a.checks = newShared[owned, string](a.log)
	a.checks.slots = make(chan struct{}, mostChecks)
	if a.deps.Meter == nil {
		a.deps.Meter = noMeter{}
	}
	a.unrouted = a.deps.Meter.Route("any", "none")
	a.forms = map[formKey]*form{}
	a.routes = a.engine()
	a.huma = humagin.New(a.routes, a.document())
	a.register()
	a.finishDocument()
	a.finishForms()
	return a
}

// Stop ends every long poll at once with what it has, so that a server can stop quickly.
func (a *API) Stop() { a.stopOnce.Do(func() { close(a.stopping) }) }

// engine makes a router that says of unknown paths what the rest of the API says of errors.
func (a *API) engine() *gin.Engine {
	gin.SetMode(gin.ReleaseMode) // or it prints every route; the mode is gin's own global
	e := gin.New()
	e.Use(a.observe)
	if a.deps.Tracer != nil {
		e.Use(traced(a.deps.Tracer))
	}
	e.Use(a.checkQuery)
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.UseRawPath, e.UnescapePathValues = true, true
	e.GET("/", a.welcome)
	e.NoRoute(func(c *gin.Context) {
		a.writeError(c.Writer, c.Request, httpError(http.StatusNotFound, "Unknown route %s. Next: GET /api/v1/openapi.json lists all routes", clip(c.Request.URL.Path)))
	})
	e.NoMethod(func(c *gin.Context) {
		a.writeError(c.Writer, c.Request, httpError(http.StatusMethodNotAllowed, "The route %s does not accept the method %s.",
			clip(c.Request.URL.Path), c.Request.Method))
	})
	return e
}

// group is a part of the API whose routes share a tag and the beginning of their path.
type group struct {
	*API
	tag, path string
}

func (a *API) group(tag, path string) group { return group{a, tag, path} }

// route is what every operation says of itself.
type route struct {
	api               *API
	method, path, tag string

	access  access
	id      string // operation id
	summary string
	details
}

// details are what some routes say besides.
type details struct {
	more   string     // description
	status int        // of success; 0: 200
	body   int64      // longest body in bytes; 0: Config.MaxBody
	limit  *bodyLimit // that its bodies share; nil: that of all other routes
	// transcript is how much of one an event may bring besides, in characters.
	transcript int
	// says is the body of a route that reads it by hand: an unknown field is no fault there.
	says any
	also map[int]any // other statuses of success and the bodies that they carry
	text string      // content type of an answer that is no JSON
	// fails lists the statuses of errors beside those that follow from the rest.
	fails []int
}

// on makes a route; at is its method and the rest of its path, for example "GET /{id}".
func (g group) on(want access, at, id, summary string) route {
	method, path, _ := strings.Cut(at, " ")
	return route{api: g.API, method: method, path: g.path + path, tag: g.tag, access: want, id: id, summary: summary}
}

// add registers a route, with its details if there are any, at most once. Errors of fn become problem documents here and
// nowhere else.
func add[I, O any](r route, fn handler[I, O], with ...details) {
	for _, d := range with {
		r.details = d
	}
	a, where := r.api, "body"
	if r.method == http.MethodGet || r.method == http.MethodDelete {
		where = "query"
	}
	huma.Register(a.huma, a.operation(r), func(ctx context.Context, in *I) (*O, error) {
		limited, cancel := a.limited(ctx)
		defer cancel()
		out, err := fn(limited, in)
		if err != nil {
			return nil, a.fail(ctx, err, where)
		}
		return out, nil
	})
	if r.says != nil {
		a.describeBody(r)
	}
	a.describeLimit(r)
}

// limited bounds what an answer may take, longer than any long poll: of a store that hangs the
// caller is told. A stream begins within it, and goes on by itself.
func (a *API) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, a.cfg.MaxWait+a.cfg.Patience)
}

func (a *API) operation(r route) huma.Operation {
	if r.body == 0 {
		r.body = maxBody
	}
	if r.status == 0 {
		r.status = http.StatusOK
	}
	steps := huma.Middlewares{a.guard(r.access), a.resolve(a.known(r.method, r.path), r.path)}
	if takesBody(r.method) {
		steps = append(steps, a.within(cmp.Or(r.limit, a.rest), r.body))
	}
	return huma.Operation{
		OperationID: r.id, Method: r.method, Path: r.path, Summary: r.summary, Description: r.more, Tags: tagsOf(r),
		DefaultStatus: r.status, MaxBodyBytes: r.body + 1, SkipValidateBody: r.says != nil,
		BodyReadTimeout: -1, // it is read by then
		Responses:       a.responses(r),
		Security:        securityOf(r.access),
		Middlewares:     steps,
	}
}
