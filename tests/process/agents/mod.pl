# A mod that does nothing, in another language: it reads the envelope of today and keeps ids as they are.
use strict;
use warnings;

$| = 1;
while (my $line = <STDIN>) {
    chomp $line;
    my ($id, $method, $params) = $line =~
        /^\{"jsonrpc":"2\.0",(?:"id":(\d+),)?"method":"([^"]+)"(?:,"params":(.*))?\}$/;
    if (!defined $method) {
        # An answer to what was passed on under the same id: it is the answer to what was asked of us.
        print "$line\n";
        next;
    }
    my $name = defined $id ? "\"id\":$id," : "";
    if ($method eq "_proxy/successor") {
        my ($inner, $rest) = $params =~ /^\{"method":"([^"]+)"(?:,"params":(.*))?\}$/;
        $rest = "{}" unless defined $rest;
        print "{\"jsonrpc\":\"2.0\",$name\"method\":\"$inner\",\"params\":$rest}\n";
        next;
    }
    $method = "initialize" if $method eq "_proxy/initialize";
    $params = "{}" unless defined $params;
    print "{\"jsonrpc\":\"2.0\",$name\"method\":\"_proxy/successor\","
        . "\"params\":{\"method\":\"$method\",\"params\":$params}}\n";
}
