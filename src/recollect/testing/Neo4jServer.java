import java.nio.file.Path;
import java.time.Duration;

import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/** A private Neo4j server: its folder and its port are given, and it ends with its standard input. */
public final class Neo4jServer {
    public static void main(String[] arguments) throws Exception {
        SocketAddress address = new SocketAddress("127.0.0.1", Integer.parseInt(arguments[1]));
        DatabaseManagementService service = new DatabaseManagementServiceBuilder(Path.of(arguments[0]))
                .setConfig(BoltConnector.enabled, true)
                .setConfig(BoltConnector.listen_address, address)
                .setConfig(BoltConnector.advertised_address, address)
                .setConfig(GraphDatabaseSettings.auth_enabled, false)
                .setConfig(GraphDatabaseSettings.pagecache_memory, 64L << 20)
                // Quarter of a gigabyte would be taken at once, in memory where the folder is there.
                .setConfig(GraphDatabaseSettings.preallocate_logical_logs, false)
                // Tests fill and empty a database all the time: what was planned for the one before does for the next.
                .setConfig(GraphDatabaseSettings.cypher_min_replan_interval, Duration.ofHours(1))
                .build();
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
        service.shutdown();
    }
}
