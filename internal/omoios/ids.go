package omoios

import (
	"regexp"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// idOf returns the ID of an object in omoi: the UUID of OmoiOS, without the prefix "project-" of projects. An ID of
// another form becomes the same UUID in each run.
func idOf(kind, id string) string {
	plain := strings.ToLower(strings.TrimPrefix(id, "project-"))
	if uuidForm.MatchString(plain) {
		return plain
	}
	return task.DerivedID("omoios", kind, id)
}

// renumbered returns the change of a row whose ID is not a UUID.
func renumbered(kind, id string) []string {
	if strings.HasSuffix(strings.ToLower(id), idOf(kind, id)) {
		return nil
	}
	return []string{"The ID is not a UUID: omoi gives another one"}
}
