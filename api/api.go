package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
)

// API is the HTTP API, an [http.Handler]. It is safe for concurrent use.
type API struct {
	cfg    Config
	deps   Deps
	log    *slog.Logger
	routes *gin.Engine
	huma   huma.API
	// security holds the headers of every response.
	security http.Header
	turn     ingest.Turn // of large events
	rest     *bodyLimit  // of the routes without a limit of their own
	// unrouted counts requests that match no route.
	unrouted func(status int, took time.Duration)
	sockets  func(status int, took time.Duration) // counts WebSocket upgrades of the event bus
	forms    map[formKey]*form
	legacy   *regexp.Regexp // of the routes below legacyPrefix

	stopOnce sync.Once
	stopping chan struct{}

	streams   sync.WaitGroup // streams that outlive their request
	watches   *taskWatches
	looks     *shared[place, stretch]
	taskLooks *shared[taskPlace, ingest.TaskPage]
	standings *shared[tenantTask, client.Standing]
	states    *shared[tenantTask, taskState]
	logins    *shared[login, caller]
	bulletins *shared[busStand, busPage]
	checks    *shared[owned, string]
	comparing comparisons
	outlines  *shared[outlinePage, []ingest.OutlineEvent]
	searches  *shared[searched, []ingest.StoredEvent]
}

// New returns an API. It starts no goroutine and sends no request.
func New(cfg Config, deps Deps) *API {
	a := &API{cfg: cfg.withDefaults(), deps: deps, log: deps.Log, stopping: make(chan struct{}), security: security()}
	a.rest = newBodyLimit(bodyRoom, maxBody)
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.looks, a.taskLooks = newShared[place, stretch](a.log), newShared[taskPlace, ingest.TaskPage](a.log)
	a.standings, a.states = newShared[tenantTask, client.Standing](a.log), newShared[tenantTask, taskState](a.log)
	a.logins, a.bulletins = newShared[login, caller](a.log), newShared[busStand, busPage](a.log)
	a.watches = &taskWatches{api: a, slots: make(chan struct{}, mostLooks), by: map[string]*taskWatch{}}
	a.checks = newShared[owned, string](a.log)
	a.checks.slots = make(chan struct{}, mostChecks)
	a.comparing = a.newComparisons()
	a.outlines, a.searches = newShared[outlinePage, []ingest.OutlineEvent](a.log), newShared[searched, []ingest.StoredEvent](a.log)
	a.outlines.most, a.searches.most = mostWaiting, mostWaiting // their queries continue after the client left
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
	a.legacy = a.legacyRoutes()
	return a
}

// Stop ends every long poll at once with the result so far, so that the server can stop quickly.
func (a *API) Stop() { a.stopOnce.Do(func() { close(a.stopping) }) }

// engine returns a router whose responses to unknown paths have the same form as all other errors.
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
	e.NoRoute(a.noRoute)
	e.NoMethod(func(c *gin.Context) {
		a.writeError(c.Writer, c.Request, httpError(http.StatusMethodNotAllowed, "The route %s does not accept the method %s.",
			clip(c.Request.URL.Path), c.Request.Method))
	})
	return e
}

// group is a set of routes with the same tag and path prefix.
type group struct {
	*API
	tag, path string
}

func (a *API) group(tag, path string) group { return group{a, tag, path} }

// route describes an operation.
type route struct {
	api               *API
	method, path, tag string

	access  access
	id      string // operation id
	summary string
	details
}

// details are optional settings of a route.
type details struct {
	more   string     // description
	status int        // of success; 0: 200
	body   int64      // longest body in bytes; 0: Config.MaxBody
	limit  *bodyLimit // shared with other bodies; nil: the limit of all other routes
	// transcript is the number of characters of transcript that an event may hold in addition to body.
	transcript int
	// says is the body type of a route that decodes its body itself and ignores unknown fields.
	says any
	also map[int]any // other statuses of success and their bodies
	text string      // content type of a response that is not JSON
	// frames are the contents of a stream's frames; nil: events.
	frames []any
	// packed compresses the response for clients that accept gzip.
	packed bool
	// fails lists the statuses of errors in addition to those that follow from the other settings.
	fails []int
}

// on returns a route. at is its method and the rest of its path, for example "GET /{id}".
func (g group) on(want access, at, id, summary string) route {
	method, path, _ := strings.Cut(at, " ")
	return route{api: g.API, method: method, path: g.path + path, tag: g.tag, access: want, id: id, summary: summary}
}

// add registers a route with at most one value of details. All errors of fn become problem documents here.
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

// limited returns a context that ends later than the longest long poll, so that a caller gets an error if the database
// hangs. A stream must open within this time; afterwards the limit does not apply to the stream.
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
	if r.packed {
		steps = append(steps, packed)
	}
	return huma.Operation{
		OperationID: r.id, Method: r.method, Path: r.path, Summary: r.summary, Description: r.more, Tags: tagsOf(r),
		DefaultStatus: r.status, MaxBodyBytes: r.body + 1, SkipValidateBody: r.says != nil,
		BodyReadTimeout: -1, // the body has been read already
		Responses:       a.responses(r),
		Security:        securityOf(r.access),
		Middlewares:     steps,
	}
}
