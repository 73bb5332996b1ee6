package alone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// heartbeat is how long nothing is printed while nothing changes.
const heartbeat = time.Minute

// Run serves until ctx is done and then returns nil. An error says why it can't
// serve what o asks for, or that something didn't end well.
func Run(ctx context.Context, o Options) (err error) {
	var servers []*server
	defer func() {
		for _, s := range slices.Backward(servers) {
			err = errors.Join(err, s.close())
		}
	}()
	for _, name := range Names {
		if !slices.Contains(o.Serve, name) {
			continue
		}
		s, err := o.start(ctx, name)
		if ctx.Err() != nil && s == nil {
			return nil // it was told to stop meanwhile
		}
		if err != nil {
			return err
		}
		servers = append(servers, s)
	}
	introduce(o.Out, servers)
	report(ctx, o, func() sample { return take(servers) })
	return nil
}

// introduce says what to export and how to look in.
func introduce(out io.Writer, servers []*server) {
	for _, s := range servers {
		for _, e := range s.exports {
			fmt.Fprintln(out, "export "+e)
		}
	}
	fmt.Fprintln(out)
	for _, s := range servers {
		if s.control != "" {
			fmt.Fprintf(out, "curl -s http://%s/help   # counters, faults and clock of %s\n", s.control, s.name)
		}
	}
	fmt.Fprintln(out, "Everything is gone at the end, which ^C brings.")
}

func take(servers []*server) sample {
	out := sample{at: time.Now()}
	for _, s := range servers {
		if s.counts != nil {
			out.servers = append(out.servers, counted{s.name, s.counts()})
		}
	}
	return out
}

// report prints lines of counts until ctx is done, and one at the end.
func report(ctx context.Context, o Options, take func() sample) {
	start := take()
	before, said := start, start
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	say := func(now sample, what string) {
		if len(now.servers) > 0 {
			fmt.Fprintf(o.Out, "%s %s%s\n", now.at.Format(time.TimeOnly), what, now.line(before))
		}
	}
	for {
		select {
		case <-ctx.Done():
			now := take()
			before = start // the last rates are those of the whole time
			say(now, fmt.Sprintf("stopped after %s  ", now.at.Sub(start.at).Round(time.Second)))
			return
		case <-tick.C:
		}
		now := take()
		switch {
		case !now.sameCounts(said):
			say(now, "")
			said = now
		case now.at.Sub(said.at) >= heartbeat:
			say(now, "unchanged  ")
			said = now
		}
		before = now
	}
}
