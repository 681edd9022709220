package daytona

import (
	"crypto/subtle"
	"net/http"
	"strings"
)

// handler answers one call of the main API: a body, created, or an error.
type handler func(r *http.Request) (any, error)

// created is 201 without a body.
type created struct{}

// call is a route of the main API.
type call struct {
	kind   Kind // counted beside authenticated; empty: none
	open   bool // asks for no key
	handle handler
}

func (s *Server) calls() map[string]call {
	lifecycle := func(do func(r *http.Request, b *box) (any, error)) call {
		return call{kind: KindLifecycle, handle: s.onBox(do)}
	}
	return map[string]call{
		"GET /config":           {open: true, handle: s.config},
		"GET /health":           {open: true, handle: func(*http.Request) (any, error) { return map[string]string{"status": "ok"}, nil }},
		"GET /api-keys/current": {handle: s.currentKey},
		"GET /regions":          {handle: s.regions},

		"POST /sandbox":                        {kind: KindCreate, handle: s.create},
		"GET /sandbox":                         {kind: KindList, handle: s.list},
		"GET /sandbox/paginated":               {kind: KindList, handle: s.listOld},
		"GET /sandbox/{box}":                   {handle: s.onBox(s.get)},
		"DELETE /sandbox/{box}":                lifecycle(s.delete),
		"POST /sandbox/{box}/start":            lifecycle(s.start),
		"POST /sandbox/{box}/stop":             lifecycle(s.stop),
		"POST /sandbox/{box}/archive":          lifecycle(s.archive),
		"POST /sandbox/{box}/recover":          lifecycle(s.recover),
		"POST /sandbox/{box}/pause":            lifecycle(s.noClass),
		"PUT /sandbox/{box}/labels":            {handle: s.onBox(s.setLabels)},
		"POST /sandbox/{box}/last-activity":    {handle: s.onBox(s.keepAlive)},
		"POST /sandbox/{box}/network-settings": {handle: s.onBox(s.setNetwork)},
		"GET /sandbox/{box}/toolbox-proxy-url": {handle: s.onBox(s.proxyURL)},

		"POST /sandbox/{box}/autostop/{minutes}":    {handle: s.setMinutes(0, func(b *box, n int) { b.autoStop = n })},
		"POST /sandbox/{box}/autoarchive/{minutes}": {handle: s.setMinutes(0, func(b *box, n int) { b.autoArchive = n })},
		"POST /sandbox/{box}/autodelete/{minutes}":  {handle: s.setMinutes(-1<<31, func(b *box, n int) { b.autoDelete = max(n, -1) })},
		"POST /sandbox/{box}/ttl/{minutes}":         {handle: s.setMinutes(0, s.setTTL)},

		"GET /snapshots/{id}":           {handle: s.getSnapshot},
		"POST /snapshots/{id}/activate": {handle: s.activate},
	}
}

// apiRoutes are the main API below /api, and the switches beside it.
func (s *Server) apiRoutes() http.Handler {
	mux := http.NewServeMux()
	for pattern, one := range s.calls() {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /api"+path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, one) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		failAPI(w, r, refuse(http.StatusNotFound, "the emulator does not have %s %s", r.Method, r.URL.Path))
	})
	s.controlRoutes(mux)
	return s.observed(s.faulty(mux, failAPI), false)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, one call) {
	var body any
	err := s.admit(w.Header(), r, one)
	if err == nil {
		body, err = one.handle(r)
	}
	if err != nil {
		failAPI(w, r, err)
		return
	}
	if _, bare := body.(created); bare {
		w.WriteHeader(http.StatusCreated)
		return
	}
	answer(w, http.StatusOK, body)
}

// admit asks for the key and counts the call.
func (s *Server) admit(header http.Header, r *http.Request, one call) error {
	header.Set("X-Daytona-Api-Version", daemonVersion)
	if one.open {
		return s.limiter.count(KindAnonymous, header)
	}
	if !s.authorized(r) {
		if err := s.limiter.count(KindFailedAuth, header); err != nil {
			return err
		}
		return refuse(http.StatusUnauthorized, "Invalid credentials")
	}
	if err := s.limiter.count(KindAuthenticated, header); err != nil || one.kind == "" {
		return err
	}
	return s.limiter.count(one.kind, header)
}

func (s *Server) authorized(r *http.Request) bool {
	key, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return found && subtle.ConstantTimeCompare([]byte(key), []byte(s.opts.Key)) == 1
}

func (s *Server) config(*http.Request) (any, error) {
	limits := map[string]any{}
	for name, kind := range map[string]Kind{
		"failedAuth": KindFailedAuth, "authenticated": KindAuthenticated, "sandboxCreate": KindCreate,
		"sandboxLifecycle": KindLifecycle, "sandboxList": KindList,
	} {
		limit := s.limiter.limits[kind]
		limits[name] = map[string]any{"ttl": limit.Per.Seconds(), "limit": limit.Calls}
	}
	return map[string]any{
		"version": daemonVersion, "oidc": map[string]string{"issuer": "", "clientId": "", "audience": ""},
		"linkedAccountsEnabled": false, "announcements": map[string]any{}, "proxyTemplateUrl": "",
		"proxyToolboxUrl": s.toolboxURL(), "defaultSnapshot": s.opts.Snapshots[0].Name, "dashboardUrl": "",
		"maxAutoArchiveInterval": 43200, "maintananceMode": false, "environment": "emulator", "rateLimit": limits,
	}, nil
}

func (s *Server) currentKey(*http.Request) (any, error) {
	return map[string]any{
		"name": "emulator", "value": "dtn_********", "createdAt": stamp(s.clock.now()), "lastUsedAt": nil, "expiresAt": nil,
		"permissions": []string{"write:sandboxes", "delete:sandboxes"}, "userId": "emulator",
	}, nil
}

func (s *Server) regions(*http.Request) (any, error) {
	now := stamp(s.clock.now())
	out := make([]map[string]any, 0, len(s.opts.Regions))
	for _, id := range s.opts.Regions {
		out = append(out, map[string]any{"id": id, "name": id, "regionType": "shared", "createdAt": now, "updatedAt": now})
	}
	return out, nil
}
