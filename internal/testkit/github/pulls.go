package github

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pull is a pull request; its branch is of the same repository.
type pull struct {
	number            int
	title, body       string
	head, base, state string
	last              string // commit of the head when it was closed
	mergedAt          *time.Time
	mergeCommit       string
	computing         int    // so many looks answer that GitHub does not know yet whether it can be merged
	stale             bool   // it is said to be mergeable, whatever is so
	blocked           string // why rules stand against a merge
}

// Pull is a pull request as tests look at it.
type Pull struct {
	Number                         int
	Title, Body, Head, Base, State string
	Merged                         bool
}

// Pulls are all pull requests of a repository.
func (s *Server) Pulls(full string) []Pull {
	on := s.named(full)
	on.mu.Lock()
	defer on.mu.Unlock()
	var all []Pull
	for _, p := range on.pulls {
		all = append(all, Pull{p.number, p.title, p.body, p.head, p.base, p.state, p.mergedAt != nil})
	}
	return all
}

func (s *Server) named(full string) *repo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.repos[full]
}

// ChangePull does what a person does to a pull request; empty means as it is.
func (s *Server) ChangePull(full string, number int, state, body string) {
	on := s.named(full)
	on.mu.Lock()
	defer on.mu.Unlock()
	p := on.pulls[number-1]
	on.move(p, cmp.Or(state, p.state))
	p.body = cmp.Or(body, p.body)
}

// Mergeable says what looks at a pull request show of that: nothing for so many looks, then, if stale, that it
// can be merged, whatever is so. blocked is a rule that stands against it.
func (s *Server) Mergeable(full string, number, computing int, stale bool, blocked string) {
	on := s.named(full)
	on.mu.Lock()
	defer on.mu.Unlock()
	p := on.pulls[number-1]
	p.computing, p.stale, p.blocked = computing, stale, blocked
}

func (r *repo) move(p *pull, state string) {
	if p.state == "open" && state == "closed" {
		p.last = r.resolve("refs/heads/" + p.head)
	}
	p.state = state
}

func (r *repo) headOf(p *pull) string {
	if p.state == "open" {
		return r.resolve("refs/heads/" + p.head)
	}
	return p.last
}

func (s *Server) pullOf(on *repo, p *pull, whole bool) object {
	heads, head := on.heads(), p.last
	if p.state == "open" {
		head = heads[p.head]
	}
	body := object{
		"id": p.number, "node_id": "PR_" + strconv.Itoa(p.number), "number": p.number, "state": p.state, "locked": false,
		"draft": false,
		"title": p.title, "body": p.body, "html_url": s.URL + "/" + on.full() + "/pull/" + strconv.Itoa(p.number),
		"url":  s.URL + "/api/v3/repos/" + on.full() + "/pulls/" + strconv.Itoa(p.number),
		"head": object{"label": on.owner + ":" + p.head, "ref": p.head, "sha": head, "repo": s.repoOf(on)},
		"base": object{
			"label": on.owner + ":" + p.base, "ref": p.base, "sha": heads[p.base], "repo": s.repoOf(on),
		},
		"user": object{"login": "omoi", "id": 1, "type": "User"}, "merged_at": p.mergedAt, "merge_commit_sha": nil,
	}
	if p.mergeCommit != "" {
		body["merge_commit_sha"] = p.mergeCommit
	}
	if whole {
		body["merged"] = p.mergedAt != nil
		body["mergeable"], body["mergeable_state"] = on.mergeable(p, head)
	}
	return body
}

// mergeable answers as GitHub does: null while it does not know.
func (r *repo) mergeable(p *pull, head string) (able any, state string) {
	switch {
	case p.computing > 0:
		p.computing--
		return nil, "unknown"
	case p.stale:
		return true, "clean"
	case p.blocked != "":
		return true, "blocked"
	}
	if _, err := r.merge(p, head); err != nil {
		return false, "dirty"
	}
	return true, "clean"
}

// merge answers the tree that a merge would have.
func (r *repo) merge(p *pull, head string) (string, error) {
	return gitIn(r.dir, nil, "merge-tree", "--write-tree", "--no-messages", "refs/heads/"+p.base, head)
}

func (s *Server) listPulls(w http.ResponseWriter, r *http.Request, on *repo) {
	on.mu.Lock()
	defer on.mu.Unlock()
	state, head := cmp.Or(r.URL.Query().Get("state"), "open"), strings.TrimPrefix(r.URL.Query().Get("head"), on.owner+":")
	found, hidden := []object{}, s.hides()
	for _, p := range slices.Backward(on.pulls) {
		if !hidden && (state == "all" || p.state == state) && (head == "" || p.head == head) {
			found = append(found, s.pullOf(on, p, false))
		}
	}
	reply(w, http.StatusOK, page(w, r, found))
}

func (s *Server) createPull(w http.ResponseWriter, r *http.Request, on *repo) {
	var in struct {
		Title string `json:"title"`
		Body  string `json:"body"`
		Head  string `json:"head"`
		Base  string `json:"base"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Title == "" {
		refuse(w, http.StatusUnprocessableEntity, "Validation Failed", "title can't be blank")
		return
	}
	on.mu.Lock()
	defer on.mu.Unlock()
	heads := on.heads()
	head, base := heads[in.Head], heads[in.Base]
	taken := slices.ContainsFunc(on.pulls,
		func(p *pull) bool { return p.state == "open" && p.head == in.Head && p.base == in.Base })
	switch {
	case head == "" || base == "":
		refuse(w, http.StatusUnprocessableEntity, "Validation Failed", "head or base is invalid")
	case taken:
		refuse(w, http.StatusUnprocessableEntity, "Validation Failed",
			"A pull request already exists for "+on.owner+":"+in.Head+".")
	case head == base:
		refuse(w, http.StatusUnprocessableEntity, "Validation Failed", "No commits between "+in.Base+" and "+in.Head)
	default:
		p := &pull{number: len(on.pulls) + 1, title: in.Title, body: in.Body, head: in.Head, base: in.Base, state: "open"}
		on.pulls = append(on.pulls, p)
		reply(w, http.StatusCreated, s.pullOf(on, p, true))
	}
}

// numbered answers the pull request that a call names; the caller holds the lock.
func numbered(w http.ResponseWriter, r *http.Request, on *repo) *pull {
	n, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || n < 1 || n > len(on.pulls) {
		refuse(w, http.StatusNotFound, "Not Found")
		return nil
	}
	return on.pulls[n-1]
}

func (s *Server) getPull(w http.ResponseWriter, r *http.Request, on *repo) {
	on.mu.Lock()
	defer on.mu.Unlock()
	if p := numbered(w, r, on); p != nil {
		reply(w, http.StatusOK, s.pullOf(on, p, true))
	}
}

func (s *Server) changePull(w http.ResponseWriter, r *http.Request, on *repo) {
	on.mu.Lock()
	defer on.mu.Unlock()
	p := numbered(w, r, on)
	var in struct {
		Title *string `json:"title"`
		Body  *string `json:"body"`
		State *string `json:"state"`
	}
	if p == nil || json.NewDecoder(r.Body).Decode(&in) != nil {
		return
	}
	if in.State != nil && *in.State == "open" && (p.mergedAt != nil || on.resolve("refs/heads/"+p.head) == "") {
		refuse(w, http.StatusUnprocessableEntity, "Validation Failed",
			"state cannot be changed. The "+p.head+" branch was force-pushed or recreated.")
		return
	}
	on.move(p, *cmp.Or(in.State, &p.state))
	p.title, p.body = *cmp.Or(in.Title, &p.title), *cmp.Or(in.Body, &p.body)
	reply(w, http.StatusOK, s.pullOf(on, p, true))
}
