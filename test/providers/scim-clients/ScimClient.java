import com.unboundid.scim2.client.ScimService;
import com.unboundid.scim2.common.exceptions.ResourceConflictException;
import com.unboundid.scim2.common.exceptions.ResourceNotFoundException;
import com.unboundid.scim2.common.filters.Filter;
import com.unboundid.scim2.common.types.Email;
import com.unboundid.scim2.common.types.GroupResource;
import com.unboundid.scim2.common.types.Member;
import com.unboundid.scim2.common.types.Name;
import com.unboundid.scim2.common.types.UserResource;
import jakarta.ws.rs.client.ClientBuilder;
import jakarta.ws.rs.client.ClientRequestFilter;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.glassfish.jersey.client.ClientConfig;
import org.glassfish.jersey.jnh.connector.JavaNetHttpConnectorProvider;

/** Calls of the UnboundID SCIM 2 SDK, as its documentation shows them. Arguments: address; token in SCIM_TOKEN. */
class ScimClient {
  public static void main(String[] arguments) throws Exception {
    ClientRequestFilter authorize =
        request -> request.getHeaders().add("Authorization", "Bearer " + System.getenv("SCIM_TOKEN"));
    var config = new ClientConfig().connectorProvider(new JavaNetHttpConnectorProvider()).register(authorize);
    var scim = new ScimService(ClientBuilder.newClient(config).target(arguments[0]));

    same(true, scim.getServiceProviderConfig().getPatch().isSupported());
    same(2, scim.getResourceTypes().getTotalResults());
    same(2, scim.getSchemas().getTotalResults());

    var ada = scim.create("Users", user("ada"));
    var grace = scim.create("Users", user("grace"));
    same(ada.getUserName(), scim.retrieve("Users", ada.getId(), UserResource.class).getUserName());
    same(ada.getId(), scim.retrieve(ada.getMeta().getLocation(), UserResource.class).getId());
    fails(ResourceConflictException.class, () -> scim.create("Users", ada));

    for (var filter : List.of(
        Filter.eq("userName", ada.getUserName().toUpperCase()),
        Filter.eq("externalId", ada.getExternalId()),
        Filter.complex("emails", Filter.and(Filter.eq("type", "work"), Filter.eq("value", "ada@corp.example"))))) {
      var found = scim.search("Users", filter.toString(), UserResource.class);
      same(List.of(ada.getId()), found.getResources().stream().map(UserResource::getId).toList());
    }
    var page = scim.searchRequest("Users").page(2, 1).attributes("userName").invokePost(UserResource.class);
    same(2, page.getTotalResults());
    same(grace.getUserName(), page.getResources().get(0).getUserName());
    same(null, page.getResources().get(0).getName());

    var renamed = scim.replace(ada.setDisplayName("Ada of the directory"));
    same("Ada of the directory", renamed.getDisplayName());
    var patched = scim.modifyRequest("Users", ada.getId())
        .replaceValue("active", false)
        .replaceValue("name.familyName", "Byron")
        .addValues("roles", new com.unboundid.scim2.common.types.Role().setValue("editor"))
        .removeValues("displayName")
        .invoke(UserResource.class);
    same(false, patched.getActive());
    same("Byron", patched.getName().getFamilyName());
    same("editor", patched.getRoles().get(0).getValue());
    same(null, patched.getDisplayName());

    var group = scim.create("Groups", new GroupResource()
        .setDisplayName("math")
        .setMembers(List.of(new Member().setValue(ada.getId()))));
    scim.modifyRequest("Groups", group.getId())
        .addValues("members", new Member().setValue(grace.getId()))
        .replaceValue("displayName", "physics")
        .invoke(GroupResource.class);
    scim.modifyRequest("Groups", group.getId())
        .removeValues("members[value eq \"" + ada.getId() + "\"]")
        .invoke(GroupResource.class);
    var changed = scim.retrieve("Groups", group.getId(), GroupResource.class);
    same("physics", changed.getDisplayName());
    same(List.of(grace.getId()), changed.getMembers().stream().map(Member::getValue).toList());
    same(1, scim.search("Groups", "displayName eq \"physics\"", GroupResource.class).getTotalResults());
    same(null, scim.replace(changed.setMembers(null)).getMembers());

    scim.delete(group);
    scim.delete("Users", ada.getId());
    fails(ResourceNotFoundException.class, () -> scim.retrieve("Users", ada.getId(), UserResource.class));
    fails(ResourceNotFoundException.class, () -> scim.retrieve("Groups", group.getId(), GroupResource.class));
    System.out.println("all calls answered as the client expects");
  }

  private static UserResource user(String name) {
    var user = new UserResource()
        .setUserName(name + "@corp.example")
        .setName(new Name().setGivenName(name).setFamilyName("of the client"))
        .setActive(true)
        .setEmails(new Email().setValue(name + "@corp.example").setType("work").setPrimary(true));
    user.setExternalId(UUID.randomUUID().toString());
    return user;
  }

  private interface Call {
    void run() throws Exception;
  }

  private static void fails(Class<? extends Exception> expected, Call call) throws Exception {
    try {
      call.run();
    } catch (Exception error) {
      if (expected.isInstance(error)) return;
      throw error;
    }
    throw new AssertionError("no " + expected.getSimpleName());
  }

  private static void same(Object expected, Object found) {
    if (!Objects.equals(expected, found)) throw new AssertionError(expected + " was expected, not " + found);
  }
}
