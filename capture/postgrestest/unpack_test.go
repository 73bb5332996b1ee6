package postgrestest

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func tellNobody(ctx context.Context, acct account) (Install, error) {
	return unpackDistribution(ctx, acct, nil)
}

// The last step of the lookup for real: whatever is installed here is passed over, the distribution's package comes through
// apt (once, then from the cache), and it works as a source: a slot with pgoutput. On a machine without apt the same call must end
// with the one command to type.
func TestUnpackedServer(t *testing.T) {
	in, err := finder{account: serverAccount(), lookPath: notInPath, unpack: tellNobody}.find(t.Context())
	if _, noApt := exec.LookPath("apt-get"); noApt != nil {
		if e, ok := errors.AsType[*Error](err); !ok || e.Code() != CodeNotFound || !strings.Contains(e.Fix(), installCommand()) {
			t.Fatalf("without apt: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatalf("this test needs Debian's or Ubuntu's packages once (apt-get must be able to download), later runs use the cache: %v", err)
	}
	cache, err := cacheFolder(serverAccount())
	if err != nil || !strings.HasPrefix(in.Bin, filepath.Join(cache, "apt-")) {
		t.Fatalf("%s isn't below the cache %s (%v)", in.Bin, cache, err)
	}
	s := Start(t, Use(in))
	s.MustExec(t, "postgres", "CREATE EXTENSION hstore", "SELECT pg_create_logical_replication_slot('a', 'pgoutput')", "CREATE PUBLICATION p")
}

func TestWantedPackages(t *testing.T) {
	for deb, want := range map[string]bool{
		"postgresql-15_15.20-0+deb12u1_amd64.deb":        true,
		"libpq5_15.20-0+deb12u1_amd64.deb":               true,
		"libicu72_72.1-3_amd64.deb":                      true,
		"libllvm14_1%3a14.0.6-12_amd64.deb":              false,
		"libc6_2.36-9+deb12u10_amd64.deb":                false,
		"libc-bin_2.36-9_amd64.deb":                      false,
		"libcrypt1_1%3a4.4.33-2_amd64.deb":               true,
		"libjson-perl_4.10000-1_all.deb":                 false,
		"libperl5.36_5.36.0-7_amd64.deb":                 false,
		"libpq-dev_15.20-0+deb12u1_amd64.deb":            false,
		"postgresql-client-15_15.20-0+deb12u1_amd64.deb": false,
		"postgresql-common_248_all.deb":                  false,
		"locales_2.36-9_all.deb":                         false,
	} {
		if got := wanted(deb, "postgresql-15"); got != want {
			t.Errorf("%s: %t", deb, got)
		}
	}
}
