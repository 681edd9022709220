package github

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

func (s *Server) getRepo(w http.ResponseWriter, r *http.Request, on *repo) {
	_, push, _ := s.enter(r, on.owner, on.name)
	push = push && !strings.HasPrefix(tokenOf(r), "ghs_") // of an App's token GitHub does not say what it may
	body := s.repoOf(on)
	body["permissions"] = object{"admin": false, "maintain": false, "push": push, "triage": push, "pull": true}
	reply(w, http.StatusOK, body)
}

func (s *Server) repoOf(on *repo) object {
	return object{
		"id": on.id, "node_id": "R_" + strconv.Itoa(on.id), "name": on.name, "full_name": on.full(), "private": true,
		"fork": false, "size": weigh(on.dir) >> 10,
		"owner":    object{"login": on.owner, "id": 1, "type": "Organization", "site_admin": false},
		"html_url": s.URL + "/" + on.full(), "url": s.URL + "/api/v3/repos/" + on.full(),
		"clone_url":      s.URL + "/" + on.full() + ".git",
		"default_branch": on.base, "archived": on.archived, "disabled": false, "visibility": "private",
	}
}

func (s *Server) listBranches(w http.ResponseWriter, r *http.Request, on *repo) {
	body := []object{}
	for _, b := range page(w, r, on.refs("refs/heads/")) {
		name := strings.TrimPrefix(b.name, "refs/heads/")
		body = append(body,
			object{"name": name, "commit": object{"sha": b.commit, "url": s.commitURL(on, b.commit)}, "protected": false})
	}
	reply(w, http.StatusOK, body)
}

func (s *Server) commitURL(on *repo, commit string) string {
	return s.URL + "/api/v3/repos/" + on.full() + "/git/commits/" + commit
}

func (s *Server) refOf(on *repo, one ref) object {
	return object{
		"ref": one.name, "node_id": "REF_" + one.name, "url": s.URL + "/api/v3/repos/" + on.full() + "/git/" + one.name,
		"object": object{"type": "commit", "sha": one.commit, "url": s.commitURL(on, one.commit)},
	}
}

func (s *Server) getRef(w http.ResponseWriter, r *http.Request, on *repo) {
	name := "refs/" + r.PathValue("ref")
	all := on.refs("refs/")
	at := slices.IndexFunc(all, func(one ref) bool { return one.name == name })
	switch {
	case at >= 0:
		reply(w, http.StatusOK, s.refOf(on, all[at]))
	case !slices.ContainsFunc(all, isBranch):
		refuse(w, http.StatusConflict, "Git Repository is empty.")
	default:
		refuse(w, http.StatusNotFound, "Not Found")
	}
}

func isBranch(one ref) bool { return strings.HasPrefix(one.name, "refs/heads/") }

func (s *Server) matchingRefs(w http.ResponseWriter, r *http.Request, on *repo) {
	body := []object{}
	for _, one := range page(w, r, on.refs("refs/"+r.PathValue("ref"))) {
		body = append(body, s.refOf(on, one))
	}
	reply(w, http.StatusOK, body)
}

func (s *Server) createRef(w http.ResponseWriter, r *http.Request, on *repo) {
	var in struct {
		Ref string `json:"ref"`
		SHA string `json:"sha"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		refuse(w, http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	if strings.HasPrefix(in.Ref, "refs/") && strings.Count(in.Ref, "/") >= 2 && on.resolve(in.SHA) != "" { //nolint:mnd // as documented
		if _, err := gitIn(on.dir, nil, "update-ref", in.Ref, in.SHA, strings.Repeat("0", len(in.SHA))); err == nil {
			reply(w, http.StatusCreated, s.refOf(on, ref{in.Ref, in.SHA}))
			return
		}
	}
	refuseRef(w, on, in.Ref, in.SHA)
}

// refuseRef says why a ref was not created.
func refuseRef(w http.ResponseWriter, on *repo, name, commit string) {
	_, err := gitIn(on.dir, nil, "check-ref-format", name)
	switch {
	case on.empty():
		refuse(w, http.StatusConflict, "Git Repository is empty.")
	case err != nil || !strings.HasPrefix(name, "refs/") || strings.Count(name, "/") < 2: //nolint:mnd // as documented
		refuse(w, http.StatusUnprocessableEntity, "Reference name must start with 'refs/' and have at least two slashes")
	case on.resolve(commit) == "":
		refuse(w, http.StatusUnprocessableEntity, "Object does not exist")
	default:
		refuse(w, http.StatusUnprocessableEntity, "Reference already exists")
	}
}

func (s *Server) deleteRef(w http.ResponseWriter, r *http.Request, on *repo) {
	name := "refs/" + r.PathValue("ref")
	if on.resolve(name) == "" {
		refuse(w, http.StatusUnprocessableEntity, "Reference does not exist")
		return
	}
	if _, err := gitIn(on.dir, nil, "update-ref", "-d", name); err != nil {
		refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) compare(w http.ResponseWriter, r *http.Request, on *repo) {
	from, to, _ := strings.Cut(r.PathValue("range"), "...")
	both, err := gitIn(on.dir, nil, "rev-parse", from+"^{commit}", to+"^{commit}")
	base, head, _ := strings.Cut(both, "\n")
	merge := ""
	if err == nil {
		merge, err = gitIn(on.dir, nil, "merge-base", base, head)
	}
	if err != nil {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	if strings.Contains(r.Header.Get("Accept"), "diff") {
		diff, _ := gitIn(on.dir, nil, "diff", merge, head)
		w.Header().Set("Content-Type", "application/vnd.github.diff; charset=utf-8")
		_, _ = w.Write([]byte(diff + "\n"))
		return
	}
	counts, _ := gitIn(on.dir, nil, "rev-list", "--left-right", "--count", base+"..."+head)
	left, right, _ := strings.Cut(counts, "\t")
	behind, _ := strconv.Atoi(left)
	ahead, _ := strconv.Atoi(right)
	reply(w, http.StatusOK, object{
		"status": comparison(ahead, behind), "ahead_by": ahead, "behind_by": behind, "total_commits": ahead,
		"commits": []object{}, "files": []object{},
		"base_commit": object{"sha": base}, "merge_base_commit": object{"sha": merge},
		"html_url": s.URL + "/" + on.full() + "/compare/" + from + "..." + to,
	})
}

func comparison(ahead, behind int) string {
	switch {
	case ahead > 0 && behind > 0:
		return "diverged"
	case ahead > 0:
		return "ahead"
	case behind > 0:
		return "behind"
	}
	return "identical"
}
