package daytona

import (
	"cmp"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// DefaultImage is what a sandbox is made of where the snapshot cannot be had and no image is
// configured: git, a shell, Python and Node.
const DefaultImage = "nikolaik/python-nodejs:python3.12-nodejs22"

const (
	// createPatience is how long a sandbox may take from create to a running toolbox: it may wait for a runner.
	createPatience = 10 * time.Minute
	// limitPatience is the longest wait that a rate limit may ask for inside one call that has the time. A longer one is answered
	// with [task.CodeExhausted] and its end.
	limitPatience = time.Minute
)

// Config of the provider. Zero values mean the defaults named here.
type Config struct {
	APIKey string // empty: nothing can be made, see [Provider.Ready]
	APIURL string // default https://app.daytona.io/api
	Target string // region; empty: the organization's own
	// Snapshot is what sandboxes are made of; empty: always the image.
	Snapshot string
	// Image is used where the snapshot is missing, or inactive and cannot be activated.
	Image string // default [DefaultImage]
	// Limits of a sandbox that names none. Zero: 4 GiB of memory, 2 CPUs, 8 GB of disk. They
	// count for images only: a snapshot brings its own.
	Limits sandbox.Limits
	// LongestCreate is how late a create whose answer was lost may still appear; default 5 min.
	LongestCreate time.Duration

	PollMin time.Duration // first pause between two looks; default 250 ms
	PollMax time.Duration // longest one; default 2 s

	DeletePatience time.Duration // from delete to gone; default 2 min
}

func (c Config) withDefaults() (Config, error) {
	c.APIURL = strings.TrimRight(cmp.Or(c.APIURL, "https://app.daytona.io/api"), "/")
	c.Image = cmp.Or(c.Image, DefaultImage)
	c.Limits = c.Limits.Or(sandbox.DefaultLimits())
	c.LongestCreate = cmp.Or(c.LongestCreate, 5*time.Minute)
	c.PollMin = cmp.Or(c.PollMin, 250*time.Millisecond)
	c.PollMax = cmp.Or(c.PollMax, 2*time.Second)
	c.DeletePatience = cmp.Or(c.DeletePatience, 2*time.Minute)
	u, err := url.Parse(c.APIURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return c, task.Invalid("api_url", "the URL of Daytona's API begins with http:// or https://").WithCause(err)
	}
	if strings.ContainsAny(c.Image, " \t\r\n") {
		return c, task.Invalid("image", "invalid image name %q", c.Image)
	}
	return c, c.Limits.Check(0)
}

// whole are limits as Daytona takes them: whole cores and GiB, rounded up.
func whole(l sandbox.Limits) (cpu, memory, disk int32) {
	up := func(n, unit int64) int32 { return int32((n + unit - 1) / unit) } //nolint:gosec // G115: checkLimits bounds it
	return int32(math.Ceil(l.CPUs)), up(l.MemoryBytes, sandbox.GiB), up(l.DiskBytes, sandbox.GiB)
}
