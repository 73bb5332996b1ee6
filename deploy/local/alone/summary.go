package alone

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// quantity is one count of a server.
type quantity struct {
	name string
	n    int64
	rate bool // it only grows, and how fast is of interest
}

// sample is what all servers count at one time.
type sample struct {
	at      time.Time
	servers []counted
}

type counted struct {
	name   string
	counts []quantity
}

func (s sample) sameCounts(o sample) bool {
	return slices.EqualFunc(s.servers, o.servers, func(a, b counted) bool { return slices.Equal(a.counts, b.counts) })
}

// line writes the counts as "pubsub: published=120 (+24/s) acked=100  bigquery: rows=100",
// with how fast they have grown since before.
func (s sample) line(before sample) string {
	var out strings.Builder
	for i, c := range s.servers {
		if i > 0 {
			out.WriteString("  ")
		}
		out.WriteString(c.name + ":")
		for k, q := range c.counts {
			fmt.Fprintf(&out, " %s=%d", q.name, q.n)
			grown := q.n - before.servers[i].counts[k].n
			if took := s.at.Sub(before.at).Seconds(); q.rate && grown > 0 && took > 0 {
				fmt.Fprintf(&out, " (+%s/s)", perSecond(float64(grown)/took))
			}
		}
	}
	return out.String()
}

// perSecond keeps a slow rate from looking like none.
func perSecond(rate float64) string {
	if rate < 10 {
		return fmt.Sprintf("%.1f", rate)
	}
	return fmt.Sprintf("%.0f", rate)
}
