package api

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

const (
	maxTitle       = 500      // characters
	maxDescription = 64 << 10 // bytes
	madeTitle      = 120      // characters of a title taken from the description
	defaultRetries = 3
	maxKeyLength   = 255
)

var (
	uuidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	wordForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
)

const (
	modeExploration    = task.ModeExploration
	modeImplementation = task.ModeImplementation
	modeValidation     = task.ModeValidation
)

func modes() []string { return []string{modeExploration, modeImplementation, modeValidation} }

// isID reports whether s is a UUID. No object has an ID of another form.
func isID(s string) bool { return uuidForm.MatchString(s) }

// knownID returns [task.CodeNotFound] if id is not a UUID.
func knownID(kind, id string) error {
	if isID(id) {
		return nil
	}
	return task.Errorf(task.CodeNotFound, "There is no %s %s.", kind, clip(id))
}

func clip(s string) string {
	const longest = 60
	s = token.HideIn(s) // before it is cut
	if utf8.RuneCountInString(s) <= longest {
		return s
	}
	return string([]rune(s)[:longest]) + "..."
}

// checkTitle rejects characters that break a line of a terminal, a log or a web page.
func checkTitle(field, title string) error {
	switch {
	case strings.TrimSpace(title) == "":
		return task.Invalid(field, "The %s must not be empty.", field)
	case utf8.RuneCountInString(title) > maxTitle:
		return task.Invalid(field, "The %s has %d characters: at most %d are allowed.", field,
			utf8.RuneCountInString(title), maxTitle)
	}
	for _, r := range title {
		if unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.Is(unicode.Bidi_Control, r) {
			return task.Invalid(field, "The %s contains the control character U+%04X: expected one line of text.", field, r)
		}
	}
	return nil
}

// checkText rejects control characters, except line breaks and tabs, and texts that are too long.
func checkText(field, text string, longest int) error {
	if len(text) > longest {
		return task.Invalid(field, "The %s has %d bytes: at most %d are allowed. Next: put long material into a file of the repository",
			field, len(text), longest)
	}
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
			return task.Invalid(field, "The %s contains the control character U+%04X.", field, r)
		}
	}
	return nil
}

// oneOf returns value, or fallback if value is empty; [task.CodeInvalid] if value is not in allowed.
func oneOf(field, value, fallback string, allowed []string) (string, error) {
	if value == "" {
		return fallback, nil
	}
	if slices.Contains(allowed, value) {
		return value, nil
	}
	return "", task.Invalid(field, "Invalid %s %q: must be one of %s.", field, clip(value), strings.Join(allowed, ", "))
}

// fixedField is a field of a request that names an immutable property, with the reason.
type fixedField struct {
	name  string
	value json.RawMessage
	why   string
}

// checkFixed returns [task.CodeConflict] for the first field that has a value.
func checkFixed(kind string, fields []fixedField) error {
	for _, f := range fields {
		if len(f.value) > 0 && string(f.value) != "null" {
			return cannotChange(f.name, kind, f.why)
		}
	}
	return nil
}

func cannotChange(field, kind, why string) error {
	return &task.Error{Code: task.CodeConflict, Kind: task.KindImmutable, Field: field, Message: "Cannot change the " + field + " of a " + kind + ": " + why + "."}
}

// taskIDs returns the IDs of the references without duplicates.
func (a *API) taskIDs(ctx context.Context, field string, refs []string) ([]string, error) {
	known := make([]string, 0, len(refs))
	for _, id := range refs {
		if err := a.idIn(ctx, field, task.KeyedTask, &id); err != nil {
			return nil, err
		}
		id = strings.ToLower(id)
		if !isID(id) {
			return nil, task.Invalid(field, "Invalid task ID %q: expected a UUID.", clip(id))
		}
		if !slices.Contains(known, id) {
			known = append(known, id)
		}
	}
	return known, nil
}

// checkObject returns raw if it is a JSON object that the database can store; nil if raw is empty.
func checkObject(field string, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var object map[string]any
	if json.Unmarshal(raw, &object) != nil {
		return nil, task.Invalid(field, "The %s must be a JSON object.", field)
	}
	if hasNUL(object) {
		return nil, task.Invalid(field, "The %s contains the character U+0000.", field)
	}
	if ingest.HasHugeNumber(raw) {
		return nil, task.Invalid(field, "The %s contains a number beyond the range of a 64-bit float.", field)
	}
	return raw, nil
}

// hasNUL reports whether keys or texts in v contain U+0000, which the database cannot store.
func hasNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		return slices.ContainsFunc(v, hasNUL)
	case map[string]any:
		for key, value := range v {
			if strings.ContainsRune(key, 0) || hasNUL(value) {
				return true
			}
		}
	}
	return false
}
