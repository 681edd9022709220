package github

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

func (s *Server) mergePull(w http.ResponseWriter, r *http.Request, on *repo) {
	on.mu.Lock()
	defer on.mu.Unlock()
	p := numbered(w, r, on)
	var in struct {
		Title  string `json:"commit_title"`
		SHA    string `json:"sha"`
		Method string `json:"merge_method"`
	}
	if p == nil || json.NewDecoder(r.Body).Decode(&in) != nil {
		return
	}
	head := on.headOf(p)
	tree, err := on.merge(p, head)
	switch {
	case p.state != "open" || err != nil:
		refuse(w, http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	case p.blocked != "":
		refuse(w, http.StatusMethodNotAllowed, p.blocked)
	case in.SHA != "" && in.SHA != head:
		refuse(w, http.StatusConflict, "Head branch was modified. Review and try the merge again.")
	default:
		commit, err := on.commitMerge(p, in.Method, cmp.Or(in.Title, p.title), tree)
		if err != nil {
			refuse(w, http.StatusConflict, "Base branch was modified. Review and try the merge again.")
			return
		}
		reply(w, http.StatusOK, object{"sha": commit, "merged": true, "message": "Pull Request successfully merged"})
	}
}

// commitMerge makes the commit and moves the base branch.
func (r *repo) commitMerge(p *pull, method, title, tree string) (string, error) {
	head, base := r.headOf(p), r.resolve("refs/heads/"+p.base)
	args := []string{"commit-tree", "-m", title + " (#" + strconv.Itoa(p.number) + ")", "-p", base}
	if cmp.Or(method, "merge") == "merge" {
		args = append(args, "-p", head)
	}
	commit, err := gitIn(r.dir, nil, append(args, tree)...)
	if err == nil {
		_, err = gitIn(r.dir, nil, "update-ref", "refs/heads/"+p.base, commit, base)
	}
	if err != nil {
		return "", err
	}
	now := time.Now().UTC()
	r.move(p, "closed")
	p.mergedAt, p.mergeCommit = &now, commit
	return commit, nil
}
